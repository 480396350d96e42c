// Rows that are removed, and those that stay.
#include <doctest/doctest.h>

#include "db_fixture.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

ResultKey some_key(std::int64_t size) {
  return {some_scope().device_class, square(size), some_scope().template_name};
}

CompletedRequest request_for(const ResultKey& key) {
  return {.key = key.device_class + "|" + key.problem.key() + "|" + key.template_name + "/1||x",
          .reason = "exhausted"};
}

constexpr auto kAny = [](const auto&) { return true; };

}  // namespace

TEST_SUITE("removing results") {
  TEST_CASE("of one problem, and nothing else") {
    TuningDatabase database = TuningDatabase::in_memory();
    TrialScope other_driver = some_scope();
    other_driver.environment.driver = "another";
    TrialScope other_template = some_scope();
    other_template.template_name = "gemm_simt";
    database.add_trials(some_scope(), some_run("run 1"), some_trials(0, 3, 1024));
    database.add_trials(other_driver, some_run("run 2"), some_trials(0, 2, 1024));
    database.add_trials(other_template, some_run("run 3"), some_trials(0, 4, 1024));
    database.add_trials(some_scope(), some_run("run 4"), some_trials(0, 5, 2048));
    const Winner winners[] = {some_winner(1024, 10), some_winner(2048, 20)};
    database.put_winners(winners);
    database.put_completed({request_for(some_key(1024)), request_for(some_key(2048))});

    const ResultKey keys[] = {some_key(1024)};
    const RemovedCounts counts = database.remove(keys);
    CHECK(counts.trials == 5);
    CHECK(counts.winners == 1);
    CHECK(database.trials(some_scope(), square(1024)).empty());
    CHECK(database.trials(other_driver, square(1024)).empty());
    CHECK(database.trials(other_template, square(1024)).size() == 4);
    CHECK(database.trials(some_scope(), square(2048)).size() == 5);
    REQUIRE(database.winners({}).size() == 1);
    CHECK(database.winners({}).front().problem == square(2048));
    CHECK_FALSE(database.completed(request_for(some_key(1024)).key));
    CHECK(database.completed(request_for(some_key(2048)).key));
    CHECK(database.stats().runs == 2);  // those that still have trials
  }

  TEST_CASE("of scopes that are not current, and trials that were made again") {
    const TemporaryFolder folder;
    TuningDatabase database = TuningDatabase::open(folder / "a.db");
    TrialScope former = some_scope();
    former.source_hash = "former";
    database.add_trials(former, some_run("run 1"), some_trials(0, 100));
    database.add_trials(some_scope(), some_run("run 2"), some_trials(0, 3));
    Trial again = some_trial(1);
    again.measurement.median_us = 55;
    database.add_trials(some_scope(), some_run("run 3"), {&again, 1});
    const RemovedCounts counts = database.prune(
        [](const TrialScope& scope) { return scope.source_hash == some_scope().source_hash; },
        kAny);
    CHECK(counts.trials == 101);
    const std::vector<Trial> left = database.trials(some_scope(), square(1024));
    REQUIRE(left.size() == 3);
    CHECK(left.back().measurement.median_us == 55);
    const std::int64_t before = database.stats().bytes;
    database.shrink();
    CHECK(database.stats().bytes < before);
    CHECK(database.trials(some_scope(), square(1024)).size() == 3);
  }
}

TEST_SUITE("removing what cannot be used") {
  TEST_CASE("a trial that cannot be read goes, and never in place of one that can") {
    const TemporaryFolder folder;
    const auto path = folder / "a.db";
    {
      TuningDatabase database = TuningDatabase::open(path);
      database.add_trials(some_scope(), some_run("run 1"), some_trials(0, 3));
      database.add_trials(some_scope(), some_run("run 2"), some_trials(0, 3));
    }
    execute(path, "UPDATE trial SET detail = 'x' WHERE id IN (2, 3, 4, 6)");
    TuningDatabase database = TuningDatabase::open(path);
    CHECK(database.trials(some_scope(), square(1024)).size() == 2);
    CHECK(database.prune(kAny, kAny).trials == 4);
    const std::vector<Trial> left = database.trials(some_scope(), square(1024));
    REQUIRE(left.size() == 2);
    CHECK(text_of(left[0]) == text_of(some_trial(0)));
    CHECK(text_of(left[1]) == text_of(some_trial(1)));
    CHECK(database.stats().trials == 2);
  }

  TEST_CASE("results of problems that are not known go") {
    const TemporaryFolder folder;
    const auto path = folder / "a.db";
    {
      TuningDatabase database = TuningDatabase::open(path);
      database.add_trials(some_scope(), some_run(), some_trials(0, 3, 1024));
      database.add_trials(some_scope(), some_run(), some_trials(0, 2, 2048));
      database.add_trials(some_scope(), some_run(), some_trials(0, 1, 4096));
      const Winner winners[] = {some_winner(1024, 10), some_winner(2048, 20)};
      database.put_winners(winners);
    }
    execute(path, "UPDATE problem SET key = 'gemm m=1' WHERE key = '" + square(4096).key() + "'");
    execute(path, "UPDATE problem SET key = 'gemm  m' WHERE key = 'gemm m=1'");  // is no key
    TuningDatabase database = TuningDatabase::open(path);
    const RemovedCounts counts =
        database.prune(kAny, [](const Problem& problem) { return problem == square(1024); });
    CHECK(counts.trials == 3);
    CHECK(counts.winners == 1);
    CHECK(database.stats().trials == 3);
    REQUIRE(database.winners({}).size() == 1);
    CHECK(database.winners({}).front().problem == square(1024));
  }

  TEST_CASE("everything goes, whether it can be read or not") {
    const TemporaryFolder folder;
    const auto path = folder / "a.db";
    {
      TuningDatabase database = TuningDatabase::open(path);
      database.add_trials(some_scope(), some_run(), some_trials(0, 3));
      const Winner winner = some_winner(1024, 10);
      database.put_winners({&winner, 1});
      database.put_completed({request_for(some_key(1024))});
    }
    execute(path, "UPDATE problem SET key = 'gemm  m'; UPDATE winner SET row_hash = ''");
    TuningDatabase database = TuningDatabase::open(path);
    const RemovedCounts counts = database.remove_all();
    CHECK(counts.trials == 3);
    CHECK(counts.winners == 1);
    CHECK(database.stats().trials == 0);
    CHECK(database.stats().winners == 0);
    CHECK_FALSE(database.completed(request_for(some_key(1024)).key));
  }
}

TEST_SUITE("looking at many trials") {
  TEST_CASE("every sound row is visited, in the order of storing") {
    const TemporaryFolder folder;
    {
      TuningDatabase database = TuningDatabase::open(folder / "a.db");
      database.add_trials(some_scope(), some_run("run 1"), some_trials(0, 3, 2048));
      database.add_trials(some_scope(), some_run("run 2"), some_trials(0, 3, 1024));
    }
    execute(folder / "a.db", "UPDATE trial SET median_us = 1 WHERE id = 2");
    const auto database = TuningDatabase::open_read_only(folder / "a.db");
    std::vector<std::string> seen;
    const auto visit = [&](const TrialRow& row) {
      seen.push_back(row.run.guid + " " + row.problem.key().substr(0, 11) + " " +
                     std::string(row.configuration));
    };
    database->visit_trials({}, "", visit);
    REQUIRE(seen.size() == 5);
    CHECK(seen[0] == "run 1 gemm m=2048 TILE_WIDTH=16,NUMBER=0");
    CHECK(seen[1] == "run 1 gemm m=2048 TILE_WIDTH=16,NUMBER=2");
    CHECK(seen[4] == "run 2 gemm m=1024 TILE_WIDTH=16,NUMBER=2");
    seen.clear();
    database->visit_trials({.problem = square(1024)}, "gemm_tiled", visit);
    CHECK(seen.size() == 3);
    database->visit_trials({}, "gemm_simt", visit);
    database->visit_trials({.device_label = "another"}, "", visit);
    CHECK(seen.size() == 3);
  }

  TEST_CASE("the fastest trials come first, each configuration once") {
    TuningDatabase database = TuningDatabase::in_memory();
    database.add_trials(some_scope(), some_run("run 1"), some_trials(0, 5));
    Trial again = some_trial(3);
    again.measurement.median_us = 90;
    database.add_trials(some_scope(), some_run("run 2"), {&again, 1});
    const std::vector<StoredTrial> fastest = database.fastest_trials({}, "", 3);
    REQUIRE(fastest.size() == 3);
    CHECK(fastest[0].trial.configuration.at("NUMBER") == 3);
    CHECK(fastest[0].trial.measurement.median_us == 90);
    CHECK(fastest[1].trial.configuration.at("NUMBER") == 0);
    CHECK(fastest[2].trial.configuration.at("NUMBER") == 1);
  }

  TEST_CASE("summaries count trials by scope and problem") {
    TuningDatabase database = TuningDatabase::in_memory();
    std::vector<Trial> trials = some_trials(0, 4);
    trials[0].status = TrialStatus::wrong_result;
    database.add_trials(some_scope(), some_run(), trials);
    database.add_trials(some_scope(), some_run(), some_trials(0, 2, 2048));
    const std::vector<ResultSummary> summaries = database.summaries({.problem = square(1024)});
    REQUIRE(summaries.size() == 1);
    CHECK(summaries[0].device_label == "NVIDIA H200");
    CHECK(summaries[0].trials == 4);
    CHECK(summaries[0].correct == 3);
    CHECK(summaries[0].best_us == 101);
    CHECK(database.summaries({}).size() == 2);
    CHECK(database.summaries({}, "gemm_simt").empty());
  }
}
