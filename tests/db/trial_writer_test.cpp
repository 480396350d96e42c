#include "db/trial_writer.hpp"

#include <chrono>
#include <filesystem>
#include <thread>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "db_fixture.hpp"

using namespace autotune;
using namespace autotune::test;

TEST_SUITE("TrialWriter") {
  TEST_CASE("flush returns when all is stored") {
    auto database = TuningDatabase::in_memory();
    TrialWriter writer(database, some_run());
    for (int round = 1; round <= 20; ++round) {
      for (const Trial& trial : some_trials(10 * round, 10)) writer.add(some_scope(), trial);
      writer.flush();
      CHECK(database.stats().trials == 10 * round);
    }
    writer.flush();  // with nothing to do
    CHECK(writer.problem() == "");
  }

  TEST_CASE("what was added is stored without being asked for") {
    auto database = TuningDatabase::in_memory();
    TrialWriter writer(database, some_run());
    writer.add(some_scope(), some_trial(1));
    while (database.stats().trials == 0) std::this_thread::yield();  // or the test times out
  }

  TEST_CASE("a trial is stored when its call comes") {
    auto database = TuningDatabase::in_memory();
    TrialWriter writer(database, some_run());
    std::vector<std::int64_t> stored;
    for (int i = 0; i < 3; ++i) {
      writer.add(some_scope(), some_trial(i), [&] { stored.push_back(database.stats().trials); });
      writer.flush();
    }
    CHECK(stored == std::vector<std::int64_t>{1, 2, 3});
  }

  TEST_CASE("all that a run finds is stored in one transaction, in its order") {
    const TemporaryFolder folder;
    auto database = TuningDatabase::open(folder / "a.db");
    TrialWriter writer(database, some_run());
    SQLite::Database other((folder / "a.db").string(), SQLite::OPEN_READWRITE);
    other.exec("BEGIN IMMEDIATE");  // so that all of them wait
    for (const Trial& trial : some_trials(0, 3)) writer.add(some_scope(), trial);
    writer.add(some_winner(1024, 100));
    writer.add(StoredRates{"class", some_scope().environment, {60000, 4000}});
    writer.add(CompletedRequest{"key", "exhausted", 0, 0});
    CHECK_FALSE(writer.flush_for(std::chrono::milliseconds(300)));
    other.exec("ROLLBACK");
    writer.flush();
    CHECK(writer.problem() == "");
    CHECK(database.stats().trials == 3);
    const std::vector<Winner> winners = database.winners({});
    REQUIRE(winners.size() == 1);
    CHECK(winners[0].run == some_run().guid);
    CHECK(winners[0].run_row == 1);
    CHECK(database.rates("class", some_scope().environment)->fma_gflops == 60000);
    CHECK(database.completed("key"));
  }

  TEST_CASE("after a result was lost no request is complete") {
    auto database = TuningDatabase::in_memory();
    TrialWriter writer(database, some_run());
    Trial unfit = some_trial(1);
    unfit.measurement.median_us = 1e13;
    writer.add(some_scope(), unfit);
    writer.add(some_winner(1024, 100));
    writer.add(CompletedRequest{"key", "exhausted", 0, 0});
    writer.flush();
    CHECK(writer.problem().ends_with("(1 trial was not stored)"));
    CHECK(database.winners({}).size() == 1);
    CHECK_FALSE(database.completed("key"));
  }

  TEST_CASE("the destructor stores the rest") {
    auto database = TuningDatabase::in_memory();
    {
      TrialWriter writer(database, some_run());
      for (const Trial& trial : some_trials(0, 50)) writer.add(some_scope(), trial);
    }
    CHECK(database.stats().trials == 50);
  }

  TEST_CASE("trials of several scopes keep their scope and order") {
    auto database = TuningDatabase::in_memory();
    TrialScope other = some_scope();
    other.template_name = "gemm_other";
    TrialWriter writer(database, some_run());
    for (int i = 0; i < 10; ++i) writer.add(i % 2 == 0 ? some_scope() : other, some_trial(9 - i));
    writer.flush();
    const std::vector<TrialScope> both = {some_scope(), other};
    const std::vector<Trial> found = database.trials(both, square(1024));
    REQUIRE(found.size() == 10);
    for (int i = 0; i < 10; ++i) {
      CHECK(found[static_cast<std::size_t>(i)].configuration.at("NUMBER") == 9 - i);
    }
    CHECK(database.trials(some_scope(), square(1024)).size() == 5);
    CHECK(database.trials(other, square(1024)).size() == 5);
  }

  TEST_CASE("threads add and flush at once") {
    auto database = TuningDatabase::in_memory();
    TrialWriter writer(database, some_run());
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 25; ++i) {
          writer.add(some_scope(), some_trial(100 * thread + i));
          if (i % 10 == 0) writer.flush();
        }
      });
    }
    threads.clear();
    writer.flush();
    CHECK(database.trials(some_scope(), square(1024)).size() == 100);
  }

  TEST_CASE("trials that cannot be stored are counted and later ones are stored") {
    const TemporaryFolder folder;
    const auto path = folder / "a.db";
    auto database = TuningDatabase::open(path);
    TrialWriter writer(database, some_run());
    std::filesystem::rename(path, folder / "away.db");
    for (const Trial& trial : some_trials(0, 3)) writer.add(some_scope(), trial);
    writer.flush();
    CHECK(writer.problem() == path.string() +
                                  ": was deleted or replaced while it was open"
                                  " (3 trials were not stored)");
    std::filesystem::rename(folder / "away.db", path);
    writer.add(some_scope(), some_trial(3));
    writer.flush();
    CHECK(database.stats().trials == 1);
    CHECK(writer.problem().find("(3 trials were not stored)") != std::string::npos);
  }

  TEST_CASE("a trial that the database does not take costs no other") {
    auto database = TuningDatabase::in_memory();
    TrialWriter writer(database, some_run());
    std::vector<Trial> trials = some_trials(0, 20);
    trials[7].measurement.median_us = -1;
    for (const Trial& trial : trials) writer.add(some_scope(), trial);
    writer.flush();
    CHECK(database.stats().trials == 19);
    CHECK(writer.problem().find("(1 trial was not stored)") != std::string::npos);
  }
}
