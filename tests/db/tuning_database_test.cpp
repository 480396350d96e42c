#include "db/tuning_database.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include <doctest/doctest.h>

#include "db/default_paths.hpp"
#include "db_fixture.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

std::vector<std::string> texts(const std::vector<Trial>& trials) {
  std::vector<std::string> result;
  for (const Trial& trial : trials) result.push_back(text_of(trial));
  return result;
}

Trial failed_trial(int number, TrialStatus status, const std::string& detail) {
  Trial trial = some_trial(number);
  trial.status = status;
  trial.detail = detail;
  trial.measurement = {};
  trial.verification = {};
  return trial;
}

}  // namespace

TEST_SUITE("TuningDatabase") {
  TEST_CASE("trials of several templates come in the order they were stored") {
    auto database = TuningDatabase::in_memory();
    TrialScope other = some_scope();
    other.template_name = "another";
    const auto store = [&](const TrialScope& scope, int first) {
      std::vector<Trial> trials = some_trials(first, 1);
      trials.front().template_name = scope.template_name;
      database.add_trials(scope, some_run(), trials);
    };
    store(other, 0);
    store(some_scope(), 1);
    store(other, 2);
    store(some_scope(), 3);
    std::vector<std::string> names;
    for (const Trial& trial :
         database.trials(std::vector{some_scope(), other}, some_trials(0, 1).front().problem)) {
      names.push_back(trial.template_name);
    }
    const std::string own = some_scope().template_name;
    CHECK(names == std::vector<std::string>{"another", own, "another", own});
  }

  TEST_CASE("a trial reads back as it was stored") {
    auto database = TuningDatabase::in_memory();
    std::vector<Trial> stored = some_trials(0, 3);
    stored.push_back(failed_trial(3, TrialStatus::compile_failed, "error: line 3\nwith \xc2\xb5"));
    database.add_trials(some_scope(), some_run(), stored);
    CHECK(texts(database.trials(some_scope(), square(1024))) == texts(stored));
  }

  TEST_CASE("every status reads back") {
    auto database = TuningDatabase::in_memory();
    for (const TrialStatus status :
         {TrialStatus::ok, TrialStatus::rejected_spills, TrialStatus::compile_failed,
          TrialStatus::compile_timeout, TrialStatus::compile_crashed, TrialStatus::load_failed,
          TrialStatus::launch_failed, TrialStatus::wrong_result, TrialStatus::out_of_bounds,
          TrialStatus::out_of_memory, TrialStatus::run_timeout, TrialStatus::run_crashed}) {
      const Trial trial =
          status == TrialStatus::ok ? some_trial(1) : failed_trial(1, status, "why");
      database.add_trials(some_scope(), some_run(), {&trial, 1});
      const std::vector<Trial> found = database.trials(some_scope(), square(1024));
      REQUIRE(found.size() == 1);
      CHECK(found[0].status == status);
    }
    CHECK(database.stats().trials == 12);
  }

  TEST_CASE("bytes that are not text survive in a detail") {
    auto database = TuningDatabase::in_memory();
    const Trial trial = failed_trial(1, TrialStatus::run_crashed, std::string("\xff\xfe\0x", 4));
    database.add_trials(some_scope(), some_run(), {&trial, 1});
    const std::vector<Trial> found = database.trials(some_scope(), square(1024));
    REQUIRE(found.size() == 1);
    CHECK(found[0].detail == trial.detail);
  }

  TEST_CASE("an error that is not finite is stored as such and the batch goes in") {
    auto database = TuningDatabase::in_memory();
    std::vector<Trial> stored = some_trials(0, 2);
    stored[1].status = TrialStatus::wrong_result;
    stored[1].verification.max_error_ratio = std::numeric_limits<double>::quiet_NaN();
    stored[1].measurement.median_us = std::numeric_limits<double>::infinity();
    database.add_trials(some_scope(), some_run(), stored);
    const std::vector<Trial> found = database.trials(some_scope(), square(1024));
    REQUIRE(found.size() == 2);
    CHECK(std::isnan(found[1].verification.max_error_ratio));
  }

  TEST_CASE("of several trials of a configuration the last counts") {
    auto database = TuningDatabase::in_memory();
    database.add_trials(some_scope(), some_run(), some_trials(0, 3));
    Trial again = some_trial(1);
    again.measurement.median_us = 7;
    database.add_trials(some_scope(), some_run("run 2"), {&again, 1});
    const std::vector<Trial> found = database.trials(some_scope(), square(1024));
    REQUIRE(found.size() == 3);
    CHECK(found[1].measurement.median_us == 7);
    CHECK(database.stats().trials == 4);
    CHECK(database.stats().runs == 2);
  }

  TEST_CASE("all trials come with their scope and run, the last of a configuration") {
    auto database = TuningDatabase::in_memory();
    database.add_trials(some_scope(), some_run(), some_trials(0, 2));
    database.add_trials(some_scope(), some_run(), some_trials(0, 1, 2048));
    Trial again = some_trial(1);
    again.measurement.median_us = 7;
    RunInfo later = some_run("run 2");
    later.started_at = "2026-02-03T04:05:06Z";
    database.add_trials(some_scope(), later, {&again, 1});
    TrialScope other = some_scope();
    other.device_class = "cc 8.0";
    other.template_name = "gemm_simt";
    RunInfo elsewhere = some_run("run 3");
    elsewhere.device_label = "Another GPU";
    database.add_trials(other, elsewhere, some_trials(5, 1));

    const std::vector<StoredTrial> all = database.all_trials({});
    REQUIRE(all.size() == 4);
    CHECK(text_of(all[0].trial) == text_of(some_trial(0)));
    CHECK(all[1].trial.measurement.median_us == 7);
    CHECK(all[1].run.started_at == "2026-02-03T04:05:06Z");
    CHECK(all[1].run.guid == "run 2");
    CHECK(all[2].trial.problem == square(2048));
    CHECK(all[3].scope.device_class == "cc 8.0");
    CHECK(all[3].scope.environment.tool_version == "0.1.0");
    CHECK(all[3].run.device_label == "Another GPU");
    CHECK(database.all_trials({.device_label = "nvidia h200"}).size() == 3);
    CHECK(database.all_trials({}, "gemm_simt").size() == 1);
    CHECK(database.all_trials({.device_label = "NVIDIA H200"}, "gemm_simt").empty());
  }

  TEST_CASE("trials are found by all of their scope and problem") {
    auto database = TuningDatabase::in_memory();
    database.add_trials(some_scope(), some_run(), some_trials(0, 1));
    std::vector<TrialScope> others(7, some_scope());
    others[0].device_class += "x";
    others[1].template_name += "x";
    others[2].space_version += 1;
    others[3].source_hash += "x";
    others[4].environment.driver += "x";
    others[5].environment.nvrtc_build += "x";
    others[6].environment.measuring_protocol += 1;
    for (const TrialScope& scope : others) CHECK(database.trials(scope, square(1024)).empty());
    TrialScope same = some_scope();
    same.environment.tool_version = "9.9";
    CHECK(database.trials(same, square(1024)).size() == 1);

    CHECK(database.trials(some_scope(), gemm(1024, 1024, 1024, "NT")).empty());
    CHECK(database.trials(some_scope(), square(1023)).empty());
  }

  TEST_CASE("what other runs have stored since is read once, and of the scope alone") {
    auto database = TuningDatabase::in_memory();
    database.add_trials(some_scope(), some_run("other"), some_trials(0, 2));
    std::int64_t row = database.last_trial_row();
    CHECK(database.trials_after(row, some_scope(), "own").empty());

    TrialScope other_scope = some_scope();
    other_scope.source_hash = "another";
    const std::vector<Trial> news = some_trials(2, 3, 2048);
    database.add_trials(some_scope(), some_run("other"), news);
    database.add_trials(some_scope(), some_run("own"), some_trials(5, 1));
    database.add_trials(other_scope, some_run("other"), some_trials(6, 1));
    CHECK(texts(database.trials_after(row, some_scope(), "own")) == texts(news));
    CHECK(row == database.last_trial_row());
    CHECK(database.trials_after(row, some_scope(), "own").empty());
    CHECK(TuningDatabase::in_memory().last_trial_row() == 0);
  }

  TEST_CASE("winners are filtered and sorted and replaced") {
    auto database = TuningDatabase::in_memory();
    Winner other_template = some_winner(1024, 90);
    other_template.template_name = "gemm_other";
    Winner other_device = some_winner(512, 50);
    other_device.device_class = "cc 8.0";
    other_device.device_label = "NVIDIA A100";
    database.put_winners(
        std::vector{some_winner(2048, 800), some_winner(1024, 120), other_template, other_device});
    database.put_winners(std::vector{some_winner(1024, 100)});

    const std::vector<Winner> found = database.winners({.device_class = some_scope().device_class});
    REQUIRE(found.size() == 3);
    CHECK(text_of(found[0]) == text_of(other_template));
    CHECK(text_of(found[1]) == text_of(some_winner(1024, 100)));
    CHECK(text_of(found[2]) == text_of(some_winner(2048, 800)));
    CHECK(database.winners({.device_label = "nvidia a100"}).size() == 1);
    CHECK(database.winners({.device_label = "NVIDIA"}).empty());
    CHECK(database.winners({"cc 8.0", "NVIDIA H200"}).empty());
    CHECK(database.winners({}).size() == 4);
  }

  TEST_CASE("the best trial of every problem is an unconfirmed winner") {
    auto database = TuningDatabase::in_memory();
    std::vector<Trial> trials = some_trials(3, 5);
    for (const Trial& trial : some_trials(2, 2, 2048)) trials.push_back(trial);
    trials.push_back(some_trial(1));
    trials.back().status = TrialStatus::wrong_result;
    trials.push_back(failed_trial(0, TrialStatus::compile_failed, "no"));
    trials.back().problem = square(4096);
    database.add_trials(some_scope(), some_run(), trials);

    for (const char* label : {"", "nvidia h200"}) {
      const std::vector<Winner> best = database.best_trials({.device_label = label});
      REQUIRE(best.size() == 2);
      CHECK(best[0].problem == square(1024));
      CHECK(best[0].configuration == some_trial(3).configuration);
      CHECK(best[0].median_us == 103);
      CHECK_FALSE(best[0].confirmed);
      CHECK(best[0].device_label == "NVIDIA H200");
      CHECK(best[0].environment == some_scope().environment);
      CHECK(best[0].environment.tool_version == "0.1.0");
      CHECK(best[1].median_us == 102);
    }
    CHECK(database.best_trials({.device_class = "another"}).empty());
    CHECK(database.best_trials({.device_label = "another"}).empty());
  }

  TEST_CASE("the former label of a CPU and the one of today are one label") {
    for (const char* stored : {"host: Some CPU", "cpu: Some CPU"}) {
      auto database = TuningDatabase::in_memory();
      Winner winner = some_winner(1024, 100);
      winner.device_label = stored;
      database.put_winners({&winner, 1});
      RunInfo run = some_run();
      run.device_label = stored;
      database.add_trials(some_scope(), run, some_trials(0, 1));
      for (const char* asked : {"host: Some CPU", "cpu: Some CPU", "CPU: some cpu"}) {
        CAPTURE(stored);
        CAPTURE(asked);
        CHECK(database.winners({.device_label = asked}).size() == 1);
        CHECK(database.best_trials({.device_label = asked}).size() == 1);
      }
      CHECK(database.winners({.device_label = "Some CPU"}).empty());
    }
  }

  TEST_CASE("completed requests and rates are kept") {
    auto database = TuningDatabase::in_memory();
    CHECK_FALSE(database.completed("key"));
    database.put_completed({{"key", "budget", 30, 12}});
    database.put_completed({{"key", "exhausted", 0, 400}});
    REQUIRE(database.completed("key"));
    CHECK(database.completed("key")->reason == "exhausted");
    CHECK(database.completed("key")->trials == 400);

    Environment environment = some_scope().environment;
    database.put_rates("class", environment, {60000, 4000});
    REQUIRE(database.rates("class", environment));
    CHECK(database.rates("class", environment)->fma_gflops == 60000);
    environment.driver = "older";
    CHECK_FALSE(database.rates("class", environment));
  }

  TEST_CASE("a batch that cannot be stored stores nothing") {
    auto database = TuningDatabase::in_memory();
    std::vector<Trial> trials = some_trials(0, 3);
    trials[2].problem = Problem();
    CHECK_THROWS_AS(database.add_trials(some_scope(), some_run(), trials), StorageError);
    trials[2] = some_trial(2);
    trials[2].measurement.median_us = -1;
    CHECK_THROWS_AS(database.add_trials(some_scope(), some_run(), trials), StorageError);
    CHECK(database.stats().trials == 0);
    CHECK(database.stats().runs == 0);
    CHECK(count_problems(database, {}) == 0);
    database.add_trials(some_scope(), some_run(), some_trials(0, 3));
    CHECK(database.stats().trials == 3);
  }

  TEST_CASE("threads share one object") {
    const TemporaryFolder folder;
    auto database = TuningDatabase::open(folder / "a.db");
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 5; ++i) {
          const Trial trial = some_trial(10 * thread + i);
          database.add_trials(some_scope(), some_run(), {&trial, 1});
          CHECK(database.trials(some_scope(), square(1024)).size() >= 1);
        }
      });
    }
    threads.clear();
    CHECK(database.trials(some_scope(), square(1024)).size() == 20);
  }

  TEST_CASE("the default path follows the environment") {
    const auto with = [](const char* own, const char* data, const char* home) {
      ::setenv("AUTOTUNE_DB", own, 1);
      ::setenv("XDG_DATA_HOME", data, 1);
      ::setenv("HOME", home, 1);
    };
    const std::string home = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
    with("/a/b.db", "/data", "/home/me");
    CHECK(default_database_path() == "/a/b.db");
    with("", "/data", "/home/me");
    CHECK(default_database_path() == "/data/autotune/autotune.db");
    with("", "", "/home/me");
    CHECK(default_database_path() == "/home/me/.local/share/autotune/autotune.db");
    with("", "relative", "/home/me");  // which the XDG specification has ignored
    CHECK(default_database_path() == "/home/me/.local/share/autotune/autotune.db");
    with("", "", "relative");
    CHECK_THROWS_AS(static_cast<void>(default_database_path()), StorageError);
    with("", "", "");
    CHECK_THROWS_AS(static_cast<void>(default_database_path()), StorageError);
    with("", "", home.c_str());
  }
}
