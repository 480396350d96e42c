// Tuning runs whose database fails: the measurements are reported all the same, with what was
// wrong, and the next run makes up for what was not stored.
#include <filesystem>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include "autotune/error.hpp"

#include "tests/support/failing_vfs.hpp"
#include "tests/support/run_program.hpp"
#include "tests/tuner/scripted_workers.hpp"
#include "tuner/tuner.hpp"

namespace autotune::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kConfigurations = 12;

// X from 1 to 12; 7 is the fastest.
KernelTemplate one_parameter_template() {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 1; i <= kConfigurations; ++i) values.push_back(i);
  return {.name = "one_parameter",
          .interface_number = 1,
          .source = "source",
          .space = ConfigSpace({{"X", "", values}}, {}),
          .supports = [](const GemmProblem&) { return true; },
          .default_configuration =
              [](const GemmProblem&) {
                return Configuration({{"X", 1}});
              },
          .geometry =
              [](const Configuration&, const GemmProblem&) {
                return LaunchGeometry{.block = {32, 1, 1}};
              },
          .shared_bytes = [](const Configuration&) { return std::int64_t{0}; },
          .tile_shape = [](const Configuration& c) { return TileShape{c.at("X")}; }};
}

struct StoredSearch {
  TemporaryFolder folder;
  fs::path path = folder.path() / "a.db";
  std::shared_ptr<Script> script = std::make_shared<Script>();
  KernelTemplate kernel = one_parameter_template();

  StoredSearch() {
    script->measure = [](const MeasureRequest& request) {
      return WorkerOutcome(WorkerReply(measured(10 + std::abs(7 - macro(request.cubin, "X")))));
    };
  }

  TuneReport run(TuningDatabase& database, const ProgressCallback& progress = {}) const {
    TuneRequest request;
    request.problems = {{.m = 8, .n = 8, .k = 8}};
    request.templates = {&kernel};
    request.strategy = "exhaustive";
    TunerSetup setup;
    setup.device.label = "Test GPU";
    setup.device.compute_major = 9;
    setup.device.max_threads_per_block = 1024;
    setup.make_compile_worker = [this] { return std::make_unique<ScriptedWorker>(script); };
    setup.make_measure_worker = setup.make_compile_worker;
    setup.compile_jobs = 1;
    setup.database = &database;
    return tune(request, setup, progress, {});
  }
};

void check_report(const TuneReport& report) {
  CHECK(report.measured + report.known == kConfigurations);
  REQUIRE(report.problems.size() == 1);
  REQUIRE(report.problems.front().winner);
  CHECK(to_string(report.problems.front().winner->configuration) == "X=7");
}

bool is_whole(const fs::path& path) {
  SQLite::Database database(path.string(), SQLite::OPEN_READWRITE);
  return database.execAndGet("PRAGMA integrity_check").getString() == "ok";
}

struct DiskFault {
  int code;
  bool stays;
};

TEST_SUITE("tuning into a database that fails") {
  TEST_CASE("a fault at any change to the file costs no measurement that was made") {
    for (const DiskFault fault :
         {DiskFault{SQLITE_FULL, true}, {SQLITE_IOERR_WRITE, true}, {SQLITE_IOERR_FSYNC, false}}) {
      int failures = 1;
      for (int step = 1; failures > 0; ++step) {
        CAPTURE(fault.code);
        CAPTURE(step);
        REQUIRE(step < 500);
        const StoredSearch search;
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
}

}  // namespace
}  // namespace autotune::test
