// A template whose configurations fail, each in a way of its own: a search on the CPU device finds
// the right winner among them, and stores each with what was wrong with it.
#include <map>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include "cpu/device.hpp"
#include "cpu_kernels.hpp"
#include "kernel_templates/gemm_template.hpp"
#include "tuner/run/tuner.hpp"

using namespace autotune;

namespace {

enum Fault : std::int64_t {
  kNone,
  kSlow,
  kCrash,
  kExit,
  kEndless,
  kWrongLastRow,
  kWrongSecondRun,
  kWriteBehind,
  kMissedBarrier,
  kNoCompile,
  kReadOutside,
  kTooMuchShared,
  kFaults,
};

constexpr std::int64_t kDepth = 9;

std::string faulty_source() {
  return host_kernels::simple(R"(
#if FAULT == 1
  for (volatile int i = 0; i < 20000; ++i) {}
#elif FAULT == 2
  __builtin_trap();
#elif FAULT == 3
  __builtin__exit(0);
#elif FAULT == 4
  while (m > 0) __syncthreads();
#elif FAULT == 6
  if (threadIdx.x + threadIdx.y == 0) ++runs;
#elif FAULT == 7
  if (row == m && column == 0) c[m * n] = 0;
#elif FAULT == 8
  if (row >= m) return;
  __syncthreads();
#elif FAULT == 9
  no such thing;
#elif FAULT == 10
  if (a[m * lda + (1LL << 40)] > 0) ++runs;
#endif
)",
                              R"(
#if FAULT == 5
  if (row == m - 1) sum += 1;
#elif FAULT == 6
  if (runs > 2) sum += 1;
#endif
  c[row * ldc + column] = alpha * sum;
)");
}

KernelTemplate faulty_template(std::string_view source) {
  std::vector<std::int64_t> faults;
  for (std::int64_t fault = kNone; fault < kFaults; ++fault) faults.push_back(fault);
  const auto tiles = [](std::int64_t length) { return (length + 7) / 8; };
  return kernel_template(
      {.name = "simple",
       .space_version = 1,
       .source = source,
       .space = ConfigSpace({{"FAULT", "", faults}}, {}),
       .supports = [](const GemmProblem&) { return true; },
       .default_configuration =
           [](const GemmProblem&) {
             return Configuration({{"FAULT", kNone}});
           },
       .geometry =
           [tiles](const Configuration& c, const GemmProblem& p) {
             LaunchGeometry result{.grid = {tiles(p.m) * tiles(p.n), 1, 1}, .block = {8, 8, 1}};
             // Only where it is launched, so that it is not rejected beforehand.
             if (c.at("FAULT") == kTooMuchShared && p.k == kDepth)
               result.dynamic_shared_bytes = 1 << 20;
             return result;
           },
       .shared_bytes = [](const Configuration&) { return std::int64_t{0}; },
       .tile_shape = [](const Configuration&) { return TileShape{8, 1, 1, 1, 8, 8, 8}; }});
}

}  // namespace

TEST_SUITE("planted faults") {
  TEST_CASE("a search on the CPU device catches each by name and finds the right winner") {
    const std::string source = faulty_source();
    const KernelTemplate kernel = faulty_template(source);
    TuningDatabase database = TuningDatabase::in_memory();
    TuneRequest request;
    request.problems = {
        GemmProblem{.m = 7, .n = 5, .k = kDepth}};  // one block, so that a copy of it counts runs
    request.templates = {&kernel};
    request.strategy = "exhaustive";
    request.budget.trials = kFaults;  // not seconds, of which a slow compiler needs many
    TunerSetup setup{.kernels = built_in_kernels()};
    setup.device = cpu_device_info();
    setup.make_compile_worker = [] { return make_process_worker(AUTOTUNE_PROGRAM, kCpuOrdinal); };
    setup.measuring = {{setup.device, setup.make_compile_worker, {}}};
    setup.measure_timeout = std::chrono::milliseconds(10'000);
    setup.database = &database;

    std::map<std::int64_t, Trial> trials;
    const TuneReport report = tune(request, setup,
                                   [&](const TuneProgress& progress) {
                                     if (progress.last == nullptr) return;
                                     trials[progress.last->configuration.at("FAULT")] =
                                         *progress.last;
                                   },
                                   {});

    const std::map<std::int64_t, std::pair<TrialStatus, std::string>> expected = {
        {kNone, {TrialStatus::ok, ""}},
        {kSlow, {TrialStatus::ok, ""}},
        {kCrash, {TrialStatus::run_crashed, "signal"}},
        {kExit, {TrialStatus::run_crashed, "exit"}},
        {kEndless, {TrialStatus::run_timeout, "no answer within"}},
        {kWrongLastRow, {TrialStatus::wrong_result, "the first in row 6, column 0"}},
        {kWrongSecondRun, {TrialStatus::wrong_result, "on random data"}},
        {kWriteBehind, {TrialStatus::out_of_bounds, "outside of the output"}},
        {kMissedBarrier, {TrialStatus::launch_failed, "wait at the barrier"}},
        {kNoCompile, {TrialStatus::compile_failed, "was not declared"}},
        {kReadOutside, {TrialStatus::run_crashed, "SIGSEGV"}},
        {kTooMuchShared, {TrialStatus::launch_failed, "shared memory"}},
    };
    CHECK(trials.size() == expected.size());
    for (const auto& [fault, outcome] : expected) {
      CAPTURE(fault);
      CHECK(trials[fault].status == outcome.first);
      CAPTURE(trials[fault].detail);
      CHECK(trials[fault].detail.find(outcome.second) != std::string::npos);
    }
    CHECK(database.stats().trials == kFaults);
    CHECK(database.stats().failed_trials == kFaults - 2);
    siginfo_t child{};  // none runs, and none waits to be reaped
    CHECK(::waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0);
    REQUIRE(report.problems.size() == 1);
    REQUIRE(report.problems.front().winner);
    CHECK(report.problems.front().winner->configuration.at("FAULT") == kNone);
  }
}
