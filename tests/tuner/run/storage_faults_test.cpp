// Tuning runs whose database fails: the measurements are reported all the same, with what was
// wrong, and the next run repeats the trials that were not stored.
#include <atomic>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include "autotune/error.hpp"

#include "tests/support/failing_vfs.hpp"
#include "tests/tuner/small_search.hpp"

namespace autotune::test {
namespace {

// A race needs no certain change to fail, so the thread sanitizer gets one in seven.
#ifdef __SANITIZE_THREAD__
constexpr int kStride = 7;
#else
constexpr int kStride = 1;
#endif

struct DiskFault {
  int code;
  bool stays;
};

bool is_whole(const std::filesystem::path& path) {
  SQLite::Database database(path.string(), SQLite::OPEN_READWRITE);
  return database.execAndGet("PRAGMA integrity_check").getString() == "ok";
}

TEST_SUITE("tuning into a database that fails") {
  TEST_CASE("a fault at any change to the file costs no measurement that was made") {
    for (const DiskFault fault :
         {DiskFault{SQLITE_FULL, true}, {SQLITE_IOERR_WRITE, true}, {SQLITE_IOERR_FSYNC, false}}) {
      int failures = 1;
      for (int step = 1; failures > 0; step += kStride) {
        CAPTURE(fault.code);
        CAPTURE(step);
        REQUIRE(step < 500);
        const SmallSearch search;
        std::string problem;
        {
          FailingVfs disk(step, fault.code, fault.stays);
          try {
            auto database = TuningDatabase::open(search.path);
            const TuneReport report = search.run(database);
            check_report(report);
            problem = report.storage_problem;
          } catch (const StorageError& error) {
            problem = error.what();
            CHECK(search.script->measures == 0);  // else they are lost
          }
          failures = disk.failures();
        }
        const FailingVfs sound_disk;
        CHECK(is_whole(search.path));
        auto database = TuningDatabase::open(search.path);
        const std::int64_t stored = database.stats().trials;
        CAPTURE(problem);
        if (problem.empty()) {
          CHECK(stored == kConfigurations);
          CHECK(database.stats().winners == 1);
        } else {
          CHECK(problem.find(search.path.string() + ": ") == 0);
          CHECK(problem.find('\n') == std::string::npos);
        }

        const TuneReport next = search.run(database);
        check_report(next);
        CHECK(next.storage_problem.empty());
        CHECK(next.known == stored);
        CHECK(database.stats().trials == kConfigurations);
        CHECK(next.problems.front().winner->confirmed);
        CHECK(database.stats().winners == 1);
      }
    }
  }

  TEST_CASE("a lock that another process holds to the end is told, and the next run stores") {
    const SmallSearch search;
    auto database = TuningDatabase::open(search.path, std::chrono::milliseconds(1));
    const auto answer = search.script->measure;
    {
      SQLite::Database other(search.path.string(), SQLite::OPEN_READWRITE);
      other.setBusyTimeout(10'000);
      std::atomic<bool> locks = true;
      search.script->measure = [&](const MeasureRequest& m) {
        if (locks.exchange(false)) other.exec("BEGIN EXCLUSIVE");
        return answer(m);
      };
      const TuneReport report = search.run(database);
      check_report(report);
      CHECK(report.storage_problem == search.path.string() +
                                          ": is locked by another process: try again when that has"
                                          " ended (12 trials were not stored)");
      search.script->measure = answer;
    }
    CHECK(database.stats().trials == 0);
    const TuneReport next = search.run(database);
    check_report(next);
    CHECK(next.measured == kConfigurations);
    CHECK(database.stats().trials == kConfigurations);
  }
}

}  // namespace
}  // namespace autotune::test
