// A search of twelve configurations with scripted workers, for tests of what goes wrong around it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "operation/gemm/gemm.hpp"
#include "tests/support/run_program.hpp"
#include "tests/tuner/scripted_workers.hpp"
#include "tuner/run/tuner.hpp"

namespace autotune::test {

inline constexpr std::int64_t kConfigurations = 12;

// X from 1 to 12; 7 is the fastest.
inline KernelTemplate one_parameter_template() {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 1; i <= kConfigurations; ++i) values.push_back(i);
  return {.name = "one_parameter",
          .space_version = 1,
          .operation = &gemm_operation(),
          .source = "source",
          .space = ConfigSpace({{"X", "", values}}, {}),
          .signature = [](const Problem& problem) { return gemm_signature(problem); },
          .supports = [](const Problem&) { return true; },
          .default_configuration =
              [](const Problem&) {
                return Configuration({{"X", 1}});
              },
          .geometry =
              [](const Configuration&, const Problem&) {
                return LaunchGeometry{.block = {32, 1, 1}};
              },
          .shared_bytes = [](const Configuration&) { return std::int64_t{0}; },
          .tile_shape = [](const Configuration& c) { return TileShape{c.at("X")}; },
          .limiting_problems = {GemmProblem{.m = 1, .n = 1, .k = 1}}};
}

inline double one_parameter_us(const MeasureRequest& request) {
  return 10 + std::abs(7 - macro(request.cubin, "X"));
}

struct SmallSearch {
  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "a.db";
  std::shared_ptr<Script> script = std::make_shared<Script>();
  KernelTemplate kernel = one_parameter_template();
  Problem problem = GemmProblem{.m = 8, .n = 8, .k = 8};
  DeviceInfo device;

  SmallSearch() {
    device.label = "Test GPU";
    device.compute_major = 9;
    device.sm.threads_per_block = 1024;
    script->measure = [](const MeasureRequest& request) {
      return WorkerOutcome(WorkerReply(measured(one_parameter_us(request))));
    };
  }

  TuneReport run(TuningDatabase& database, const ProgressCallback& progress = {}) const {
    TuneRequest request;
    request.problems = {problem};
    request.templates = {&kernel};
    request.strategy = "exhaustive";
    TunerSetup setup{.kernels = built_in_kernels()};
    setup.device = device;
    setup.make_compile_worker = [this] { return std::make_unique<ScriptedWorker>(script); };
    setup.measuring = {{device, setup.make_compile_worker, {}}};
    setup.compile_jobs = 1;
    setup.database = &database;
    return tune(request, setup, progress, {});
  }
};

// All configurations are known, and the right one won.
inline void check_report(const TuneReport& report) {
  CHECK(report.measured + report.known == kConfigurations);
  REQUIRE(report.problems.size() == 1);
  REQUIRE(report.problems.front().winner);
  CHECK(to_string(report.problems.front().winner->configuration) == "X=7");
}

}  // namespace autotune::test
