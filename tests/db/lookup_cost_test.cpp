// The cost of an answer, in steps of SQLite's virtual machine, with little and with much stored.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include "db_fixture.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;

// Counts the steps of all statements that end, on the connections that are opened while it lives.
class StepCounter {
 public:
  StepCounter() {
    steps() = 0;
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(watch));
  }
  ~StepCounter() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(watch)); }
  StepCounter(const StepCounter&) = delete;
  StepCounter& operator=(const StepCounter&) = delete;

  // The steps that `work` takes.
  template <typename Work>
  std::int64_t of(Work work) {
    steps() = 0;
    work();
    return steps();
  }

 private:
  static std::int64_t& steps() {
    static std::int64_t count = 0;
    return count;
  }
  static int watch(sqlite3* connection, const char**, const void*) {
    return sqlite3_trace_v2(connection, SQLITE_TRACE_PROFILE, add, nullptr);
  }
  static int add(unsigned, void*, void* statement, void*) {
    constexpr int kReset = 1;
    steps() += sqlite3_stmt_status(static_cast<sqlite3_stmt*>(statement), SQLITE_STMTSTATUS_VM_STEP,
                                   kReset);
    return 0;
  }
};

constexpr int kProblems = 40;

Problem problem_of(int number) {
  return gemm(64 + number, 64, 64);
}

// A file with a winner and a few trials of two templates for each problem. To these come `trials`
// rows that are slower, of the first template, spread over all problems.
fs::path make_file(const TemporaryFolder& folder, int trials) {
  const fs::path path = folder / (std::to_string(trials) + ".db");
  auto database = TuningDatabase::open(path);
  TrialScope other = some_scope();
  other.template_name = "other";
  std::vector<Trial> some = some_trials(0, 2 * kProblems);
  std::vector<Winner> winners;
  for (int i = 0; i < kProblems; ++i) {
    some[2 * i].problem = some[2 * i + 1].problem = problem_of(i);
    winners.push_back(some_winner(64, 100));
    winners.back().problem = problem_of(i);
  }
  database.add_trials(some_scope(), some_run(), some);
  database.add_trials(other, some_run(), some);
  database.put_winners(winners);
  SQLite::Database(path.string(), SQLite::OPEN_READWRITE)
      .exec("WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < " +
            std::to_string(trials) +
            ") INSERT INTO trial (scope, run, problem, configuration, status, detail, median_us,"
            " measurement, verification, resources, row_hash) SELECT scope, run, 1 + i % " +
            std::to_string(kProblems) +
            ", configuration, status, detail, 1e6 + i, measurement, verification, resources,"
            " row_hash FROM number JOIN trial ON trial.id = 1");
  return path;
}

struct Costs {
  std::int64_t winners = 0;
  std::int64_t best_trials = 0;
  std::int64_t by_label = 0;
  std::int64_t none = 0;
  std::int64_t problems = 0;
  bool operator==(const Costs&) const = default;
};

Costs costs_with(const TemporaryFolder& folder, int trials) {
  const fs::path path = make_file(folder, trials);
  StepCounter counter;
  const auto database = TuningDatabase::open_read_only(path);
  const ResultFilter exact{.device_class = some_scope().device_class, .problem = problem_of(17)};
  Costs costs;
  costs.winners = counter.of([&] { CHECK(database->winners(exact).size() == 1); });
  costs.best_trials = counter.of([&] { CHECK(database->best_trials(exact).size() == 2); });
  costs.by_label = counter.of([&] {
    const ResultFilter filter{.device_label = "nvidia h200", .problem = problem_of(17)};
    CHECK(database->winners(filter).size() == 1);
    CHECK(database->best_trials(filter).size() == 2);
  });
  costs.none = counter.of([&] {
    const ResultFilter filter{.device_class = exact.device_class, .problem = gemm(1, 2, 3)};
    CHECK(database->winners(filter).empty());
    CHECK(database->best_trials(filter).empty());
  });
  costs.problems = counter.of([&] {
    CHECK(count_problems(*database, {.device_class = exact.device_class, .operation = "gemm"}) ==
          kProblems);
  });
  return costs;
}

}  // namespace

TEST_SUITE("cost of a lookup") {
  TEST_CASE("an exact answer takes few steps, with a hundred times the trials as many") {
    const TemporaryFolder folder;
    const Costs few = costs_with(folder, 1'000);
    const Costs many = costs_with(folder, 100'000);
    CAPTURE(few.winners);
    CAPTURE(few.best_trials);
    CAPTURE(few.by_label);
    CAPTURE(few.none);
    CAPTURE(few.problems);
    CHECK(few.winners > 0);  // the counter counts
    CHECK(few.winners <= 60);
    CHECK(few.best_trials <= 250);
    CHECK(few.by_label <= 350);
    CHECK(few.none <= 200);
    CHECK(many == few);
  }

  TEST_CASE("the list of problems takes few steps for each, whatever the number of trials") {
    const TemporaryFolder folder;
    const Costs few = costs_with(folder, 1'000);
    CHECK(few.problems <= 200 + 25 * kProblems);
    CHECK(costs_with(folder, 100'000).problems == few.problems);
  }

  TEST_CASE("runs of a device do not make its label dearer") {
    const TemporaryFolder folder;
    const fs::path path = make_file(folder, 1'000);
    const ResultFilter filter{.device_label = "NVIDIA H200", .problem = problem_of(3)};
    const auto cost = [&] {
      StepCounter counter;
      const auto database = TuningDatabase::open_read_only(path);
      return counter.of([&] { CHECK(database->best_trials(filter).size() == 2); });
    };
    const std::int64_t before = cost();
    SQLite::Database(path.string(), SQLite::OPEN_READWRITE)
        .exec(
            "WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE"
            " i < 5000) INSERT INTO run (guid, device_class, device_label, device_uuid, command,"
            " started_at, tool_version, row_hash) SELECT guid || i, device_class, device_label,"
            " device_uuid, command, started_at, tool_version, row_hash FROM number JOIN run ON"
            " run.id = 1");
    CHECK(cost() == before);
  }
}
