// What a cold call costs: it opens no file that is open, and reads nothing twice.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include <doctest/doctest.h>

#include "api/device_choice.hpp"
#include "api/gemm_backend.hpp"
#include "api/gemm_call.hpp"
#include "tests/api/fake_machine.hpp"
#include "tests/support/portfolios.hpp"
#include "tests/support/system_calls.hpp"
#include "tests/support/winner.hpp"

// The sanitizers make system calls of their own, and start no process without them.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace autotune::test {
namespace {

GemmProblem problem_of(int number) {
  GemmProblem problem = kProblem;
  problem.m += 4 * number;
  return problem;
}

// Stores winners for problems from `first` on, which have the kernel that is compiled.
void store_winners(const Machine& machine, int first, int count) {
  const KernelTemplate& kernel = *built_in_kernels().find("gemm_simt");
  std::vector<Winner> winners;
  for (int i = first; i < first + count; ++i) {
    winners.push_back(winner_of(kernel, problem_of(i), choose_device("0").device));
    winners.back().configuration = kernel.default_configuration(kProblem);
  }
  TuningDatabase::open(machine.storage.database()).put_winners(winners);
}

void multiply(Library& library, const GemmProblem& problem) {
  library.gemm(problem, 1, {kMemory}, {kMemory}, 0, {kResult});
}

// Returns the system calls that `work` makes on average, after the first products.
std::optional<long> calls_on_average(const Machine& machine, const LibraryOptions& options,
                                     int products, const std::function<void(Library&, int)>& work) {
  const auto calls = count_system_calls([&] {
    Library library(options);
    for (int i = 0; i < 2; ++i) work(library, i);
    machine.application.stay_silent(true);
    mark_system_calls();
    for (int i = 2; i < products + 2; ++i) work(library, i);
    mark_system_calls();
  });
  if (!calls) MESSAGE("SKIPPED: nobody may count system calls");
  if (calls) CHECK(*calls >= 0);
  return calls ? std::optional(*calls / products) : std::nullopt;
}

TEST_SUITE("a cold call") {
  TEST_CASE("for a new shape whose kernel is loaded takes few system calls") {
    const Machine machine;
    store_winners(machine, 0, 40);
    const auto calls = calls_on_average(
        machine, {}, 50, [](Library& library, int i) { multiply(library, problem_of(100 + i)); });
    if (calls) CHECK(*calls <= 30);
  }

  TEST_CASE("for a shape that was tuned takes few system calls") {
    const Machine machine;
    store_winners(machine, 0, 60);
    const auto calls = calls_on_average(
        machine, {}, 50, [](Library& library, int i) { multiply(library, problem_of(i)); });
    if (calls) CHECK(*calls <= 40);
  }

  TEST_CASE("sees what others store, in a file that they change, replace, move away or make") {
    const Machine machine;
    Library library;
    CHECK(library.query(problem_of(1)).match == MatchKind::predicted);
    store_winners(machine, 1, 1);
    CHECK(library.query(problem_of(1)).match == MatchKind::exact);
    store_winners(machine, 2, 1);
    CHECK(library.query(problem_of(2)).match == MatchKind::exact);
    const std::filesystem::path path = machine.storage.database();
    const std::filesystem::path away = machine.storage.folder() / "away.db";
    std::filesystem::rename(path, away);
    CHECK(library.query(problem_of(2)).match == MatchKind::predicted);
    store_winners(machine, 3, 1);
    CHECK(library.query(problem_of(2)).match == MatchKind::nearest_size);
    CHECK(library.query(problem_of(3)).match == MatchKind::exact);
    std::filesystem::rename(away, path);
    CHECK(library.query(problem_of(2)).match == MatchKind::exact);
  }

  TEST_CASE("works on the file that was named when the Library was made, in whatever folder") {
    const Machine machine;
    store_winners(machine, 1, 1);
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(machine.storage.folder());
    const EnvironmentVariable relative("AUTOTUNE_DB", "autotune.db");
    Library by_environment;
    LibraryOptions options;
    options.database = "autotune.db";
    Library by_option(options);
    std::filesystem::current_path(before);
    CHECK(by_environment.query(problem_of(1)).match == MatchKind::exact);
    CHECK(by_option.query(problem_of(1)).match == MatchKind::exact);
  }
}

TEST_SUITE("a product that is refused") {
  TEST_CASE("is refused again without a system call, until a second has passed") {
    const Machine machine;
    LibraryOptions options;
    options.miss = MissPolicy::refuse;
    const auto refuse = [](Library& library, int) {
      try {
        multiply(library, problem_of(1));
        throw UsageError("it was not refused");
      } catch (const NotTunedError&) {
      }
    };
    const auto calls = calls_on_average(machine, options, 50, refuse);
    if (calls) CHECK(*calls == 0);

    Library library(options);
    refuse(library, 0);
    store_winners(machine, 1, 1);
    ::usleep(1'100'000);
    CHECK_NOTHROW(multiply(library, problem_of(1)));
  }

  TEST_CASE(
      "for want of a compiler too, the third time, and no longer once choices are forgotten") {
    const Machine machine;
    const ResultSource results("");
    CubinStore cubins = cubin_store_for_calls();
    const Log log({});
    const auto backend = make_gpu_gemm(
        inspect_driver().devices, std::nullopt,
        {.portfolios = built_in_portfolios(), .log = log, .results = &results, .cubins = &cubins});
    const GemmProblem problem{.m = 2048, .n = 2048, .k = 2048};
    const auto multiply_by = [&] {
      return backend->gemm(checked_call(problem, {1, {kMemory}, {kMemory}, 0, {kResult}, nullptr}));
    };
    for (int times = 0; times < 2; ++times) CHECK_THROWS_AS(multiply_by(), EnvironmentError);
    const std::string kernel =
        backend->selector().predict(problem.row_major(), Placement::aligned).kernel->name;
    Machine::compile(kernel, problem, traits_of(problem, true));
    CHECK_THROWS_AS(multiply_by(), EnvironmentError);
    backend->forget_choices();
    CHECK_NOTHROW(multiply_by());
  }
}

}  // namespace
}  // namespace autotune::test

#endif
