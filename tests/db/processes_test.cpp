// Several processes on one file, and processes that end badly.
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <thread>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "db/locked_file.hpp"
#include "db_fixture.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr int kProcesses = 8;

std::set<std::int64_t> numbers_in(const TuningDatabase& database) {
  std::set<std::int64_t> numbers;
  for (const Trial& trial : database.trials(some_scope(), square(1024))) {
    numbers.insert(trial.configuration.at("NUMBER"));
  }
  return numbers;
}

}  // namespace

TEST_SUITE("several processes") {
  TEST_CASE("eight that make and write one file at once lose and double nothing") {
    const TemporaryFolder folder;
    const fs::path path = folder / "new" / "a.db";
    constexpr int kBatches = 6;
    constexpr int kTrials = 5;
    std::vector<std::unique_ptr<Child>> children;
    for (int process = 0; process < kProcesses; ++process) {
      children.push_back(std::make_unique<Child>([&, process](Child& self) {
        self.say("ready");
        self.wait_for_parent();
        auto database = TuningDatabase::open(path);
        for (int batch = 0; batch < kBatches; ++batch) {
          const int first = (process * kBatches + batch) * kTrials;
          database.add_trials(some_scope(), some_run("run " + std::to_string(process)),
                              some_trials(first, kTrials));
        }
      }));
    }
    for (const auto& child : children) CHECK(child->next_line() == "ready");
    for (const auto& child : children) child->go_on();
    for (const auto& child : children) {
      CHECK(child->next_line() == "");  // else the fault that ended it
      CHECK(child->finished_well());
    }
    const auto database = TuningDatabase::open(path);
    CHECK(database.stats().trials == kProcesses * kBatches * kTrials);
    CHECK(database.stats().runs == kProcesses);
    CHECK(numbers_in(database).size() == kProcesses * kBatches * kTrials);
  }

  TEST_CASE("sixty-four that open a file that is not there find none at fault") {
    const TemporaryFolder folder;
    const fs::path path = folder / "new" / "a.db";
    std::vector<std::unique_ptr<Child>> children;
    for (int process = 0; process < 64; ++process) {
      children.push_back(std::make_unique<Child>([&, process](Child& self) {
        self.wait_for_parent();
        if (process % 2 == 0) {
          TuningDatabase::open(path).add_trials(some_scope(), some_run(), some_trials(process, 1));
        } else if (const auto database = TuningDatabase::open_read_only(path)) {
          static_cast<void>(database->trials(some_scope(), square(1024)));
        }
      }));
    }
    for (const auto& child : children) child->go_on();
    for (const auto& child : children) {
      CHECK(child->next_line() == "");  // else the fault that ended it
      CHECK(child->finished_well());
    }
    CHECK(numbers_in(TuningDatabase::open(path)).size() == 32);
  }

  TEST_CASE("one that is killed while it writes loses nothing that it was told is stored") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    std::set<std::int64_t> acknowledged;
    for (int round = 0; round < 6; ++round) {
      Child child([&](Child& self) {
        auto database = TuningDatabase::open(path);
        for (int number = 1000 * round;; ++number) {
          const Trial trial = some_trial(number);
          database.add_trials(some_scope(), some_run(), {&trial, 1});
          self.say(std::to_string(number));
        }
      });
      for (int i = 0; i < 3 + 2 * round; ++i) acknowledged.insert(std::stoi(child.next_line()));
      child.kill();
      for (std::string line; !(line = child.next_line()).empty();) {
        acknowledged.insert(std::stoi(line));
      }
      const std::set<std::int64_t> found = numbers_in(TuningDatabase::open(path));
      CHECK(std::includes(found.begin(), found.end(), acknowledged.begin(), acknowledged.end()));
    }
    CHECK(SQLite::Database(path.string()).execAndGet("PRAGMA integrity_check").getString() == "ok");
  }

  TEST_CASE("a lock that another holds is waited for and told") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    TuningDatabase::open(path);
    for (const char* kind : {"EXCLUSIVE", "IMMEDIATE"}) {
      CAPTURE(kind);
      const bool exclusive = std::string(kind) == "EXCLUSIVE";
      Child child([&](Child& self) {
        SQLite::Database other(path.string(), SQLite::OPEN_READWRITE);
        other.exec(std::string("BEGIN ") + kind);
        self.say("locked");
        self.wait_for_parent();
      });
      REQUIRE(child.next_line() == "locked");
      const std::string message = storage_error([&] {
        auto database = TuningDatabase::open(path, milliseconds(20));
        CHECK_FALSE(exclusive);  // a process that only intends to write lets others read
        const Trial trial = some_trial(1);
        database.add_trials(some_scope(), some_run(), {&trial, 1});
      });
      CHECK(message ==
            path.string() + ": is locked by another process: try again when that has ended");
      child.go_on();
      CHECK(child.finished_well());
    }
    auto database = TuningDatabase::open(path);
    CHECK(database.stats().trials == 0);
    database.add_trials(some_scope(), some_run(), some_trials(0, 1));
    CHECK(database.stats().trials == 1);
  }

  TEST_CASE("what others have stored is not waited for while the file is locked") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    auto database = TuningDatabase::open(path, std::chrono::hours(1));
    SQLite::Database other(path.string(), SQLite::OPEN_READWRITE);
    other.exec("BEGIN EXCLUSIVE");
    std::int64_t row = 0;
    CHECK_THROWS_AS(static_cast<void>(database.trials_after(row, some_scope(), "own")), LockedFile);
    // Nor while another thread waits. What that one stores is waited for as before.
    std::jthread writer([&] { database.add_trials(some_scope(), some_run(), {}); });
    CHECK_THROWS_AS(static_cast<void>(database.trials_after(row, some_scope(), "own")), LockedFile);
    other.exec("COMMIT");
    writer.join();
    CHECK(database.trials_after(row, some_scope(), "own").empty());
  }

  TEST_CASE("once a lock was waited for in vain the next calls wait less, until one succeeds") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    constexpr milliseconds kWait(2000);
    auto database = TuningDatabase::open(path, kWait);
    Child child([&](Child& self) {
      SQLite::Database other(path.string(), SQLite::OPEN_READWRITE);
      other.exec("BEGIN EXCLUSIVE");
      self.say("locked");
      self.wait_for_parent();
    });
    REQUIRE(child.next_line() == "locked");
    const auto start = std::chrono::steady_clock::now();
    constexpr int kCalls = 20;
    for (int call = 0; call < kCalls; ++call) {
      CHECK_THROWS_AS(static_cast<void>(database.stats()), LockedFile);
    }
    const auto took = std::chrono::steady_clock::now() - start;
    CHECK(took >= kWait);
    CHECK(took < kCalls * kWait / 2);
    child.go_on();
    CHECK(child.finished_well());
    CHECK(database.stats().trials == 0);
  }

  TEST_CASE("a file that was deleted or replaced under the handle takes no rows") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    const auto add = [](TuningDatabase& database, int number) {
      return storage_error([&] {
        const Trial trial = some_trial(number);
        database.add_trials(some_scope(), some_run(), {&trial, 1});
      });
    };
    const std::string gone = path.string() + ": was deleted or replaced while it was open";

    auto deleted = TuningDatabase::open(path);
    CHECK(add(deleted, 1) == "no error");
    fs::remove(path);
    CHECK(add(deleted, 2) == gone);
    CHECK_FALSE(fs::exists(path));

    auto replaced = TuningDatabase::open(path);
    fs::rename(path, folder / "moved.db");
    CHECK(add(replaced, 3) == gone);
    auto fresh = TuningDatabase::open(path);
    CHECK(add(fresh, 4) == "no error");
    CHECK(add(replaced, 5) == gone);
    CHECK(numbers_in(fresh) == std::set<std::int64_t>{4});
    CHECK(numbers_in(TuningDatabase::open(folder / "moved.db")).empty());
  }

  TEST_CASE("a file that may not be written any more takes no rows and keeps its own") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    give_to_nobody({folder.path()});
    Child child([&](Child& self) {
      become_nobody();
      auto database = TuningDatabase::open(path);
      database.add_trials(some_scope(), some_run(), some_trials(0, 2));
      self.say("stored");
      self.wait_for_parent();
      self.say(
          storage_error([&] { database.add_trials(some_scope(), some_run(), some_trials(2, 2)); }));
      self.say(std::to_string(database.trials(some_scope(), square(1024)).size()));
    });
    REQUIRE(child.next_line() == "stored");
    fs::permissions(folder.path(), fs::perms(0555));  // no journal can be made
    child.go_on();
    CHECK(child.next_line().starts_with(path.string() + ": cannot be"));
    CHECK(child.next_line() == "2");
    CHECK(child.finished_well());
    fs::permissions(folder.path(), fs::perms(0755));
  }

  TEST_CASE("a relative path stays the same file when the program changes its folder") {
    const TemporaryFolder folder;
    Child child([&](Child&) {
      fs::current_path(folder.path());
      auto database = TuningDatabase::open("a.db");
      fs::current_path("/");
      database.add_trials(some_scope(), some_run(), some_trials(0, 1));
    });
    CHECK(child.next_line() == "");
    CHECK(child.finished_well());
    CHECK(TuningDatabase::open(folder / "a.db").stats().trials == 1);
  }
}
