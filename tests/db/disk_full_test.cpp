// Disks that fill up or fail, at every write.
#include <algorithm>
#include <csignal>
#include <filesystem>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "db_fixture.hpp"
#include "tests/support/failing_vfs.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;

struct Fault {
  int code;
  bool stays;
};
constexpr Fault kFaults[] = {{SQLITE_FULL, true},
                             {SQLITE_FULL, false},
                             {SQLITE_IOERR_WRITE, true},
                             {SQLITE_IOERR_FSYNC, false}};

bool one_line_about(const fs::path& path, const std::string& message) {
  return message.starts_with(path.string() + ": ") && message.find('\n') == std::string::npos;
}

bool is_whole(const fs::path& path) {
  SQLite::Database database(path.string(), SQLite::OPEN_READWRITE);
  return database.execAndGet("PRAGMA integrity_check").getString() == "ok";
}

}  // namespace

TEST_SUITE("a disk that fails") {
  TEST_CASE("at any step of storing trials leaves all of them or none") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    TuningDatabase::open(path).add_trials(some_scope(), some_run(), some_trials(0, 3));
    const std::string base = bytes_of(path);
    for (const Fault& fault : kFaults) {
      int failures = 1;
      for (int step = 1; failures > 0; ++step) {
        CAPTURE(step);
        REQUIRE(step < 200);
        fs::remove(path.string() + "-journal");
        write_bytes(path, base);
        std::string message;
        {
          const FailingVfs disk(step, fault.code, fault.stays);
          message = storage_error([&] {
            auto database = TuningDatabase::open(path);
            database.add_trials(some_scope(), some_run("run 2"), some_trials(3, 40));
          });
          failures = disk.failures();
        }
        if (message != "no error") CHECK(one_line_about(path, message));
        const std::size_t found =
            TuningDatabase::open(path).trials(some_scope(), square(1024)).size();
        CHECK((found == 3 || found == 43));
        if (message == "no error") CHECK(found == 43);
        CHECK(is_whole(path));
      }
    }
  }

  TEST_CASE("at any step of making the file leaves one that can be made later") {
    const TemporaryFolder folder;
    for (const Fault& fault : kFaults) {
      int failures = 1;
      for (int step = 1; failures > 0; ++step) {
        CAPTURE(step);
        REQUIRE(step < 200);
        const fs::path path = folder / (std::to_string(fault.code) + std::to_string(fault.stays) +
                                        "-" + std::to_string(step) + ".db");
        std::string message;
        {
          const FailingVfs disk(step, fault.code, fault.stays);
          message = storage_error([&] { TuningDatabase::open(path); });
          failures = disk.failures();
        }
        if (message != "no error") CHECK(one_line_about(path, message));
        auto database = TuningDatabase::open(path);
        database.add_trials(some_scope(), some_run(), some_trials(0, 1));
        CHECK(database.stats().trials == 1);
      }
    }
  }

  TEST_CASE("that is full is told as such and the rows before it stay") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    auto database = TuningDatabase::open(path);
    database.add_trials(some_scope(), some_run(), some_trials(0, 3));
    std::string message;
    {
      const FailingVfs disk(1, SQLITE_FULL, true);
      auto other = TuningDatabase::open(path);
      message =
          storage_error([&] { other.add_trials(some_scope(), some_run(), some_trials(3, 100)); });
      CHECK(other.trials(some_scope(), square(1024)).size() == 3);
    }
    CHECK(message == path.string() + ": cannot be written: the disk is full");
    database.add_trials(some_scope(), some_run(), some_trials(3, 2));
    CHECK(database.trials(some_scope(), square(1024)).size() == 5);
  }

  TEST_CASE("at the size limit of the process keeps what was stored") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    Child child([&](Child& self) {
      auto database = TuningDatabase::open(path);
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit = {200'000, 200'000};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      int stored = 0;
      const std::string message = storage_error([&] {
        for (;; stored += 20) {
          database.add_trials(some_scope(), some_run(), some_trials(stored, 20));
        }
      });
      self.say(message);
      self.say(std::to_string(stored));
    });
    CHECK(child.next_line().starts_with(path.string() + ": cannot be read or written"));
    const std::size_t stored = std::stoul(child.next_line());
    CHECK(stored > 0);
    CHECK(TuningDatabase::open(path).trials(some_scope(), square(1024)).size() == stored);
    CHECK(is_whole(path));
  }
}
