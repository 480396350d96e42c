#include "db/trial_writer.hpp"

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
