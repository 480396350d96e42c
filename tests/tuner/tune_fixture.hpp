// tune() with scripted workers: a template, a device and the parts that a test may script.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "autotune/problem.hpp"

#include "operation/gemm/gemm.hpp"
#include "tests/tuner/scripted_workers.hpp"
#include "tuner/run/tuner.hpp"

namespace autotune::test {

inline const Problem kSmall = GemmProblem{.m = 64, .n = 64, .k = 64};
inline const Problem kLarge = GemmProblem{.m = 512, .n = 512, .k = 512};

// X in 1..10, A in 1..4, X * A <= 20; not in alphabetical order, which storage must survive.
inline KernelTemplate fake_template() {
  std::vector<std::int64_t> ten;
  for (int i = 1; i <= 10; ++i) ten.push_back(i);
  ConfigSpace space({{"X", "", ten}, {"A", "", {1, 2, 3, 4}}},
                    {{"small_product", "X * A <= 20",
                      [](const Configuration& c) { return c.at("X") * c.at("A") <= 20; }}});
  return {.name = "fake",
          .space_version = 1,
          .operation = &gemm_operation(),
          .source = "fake source",
          .space = std::move(space),
          .signature = [](const Problem& problem) { return gemm_signature(problem); },
          .supports = [](const Problem&) { return true; },
          .default_configuration =
              [](const Problem&) {
                return Configuration({{"X", 2}, {"A", 2}});
              },
          .geometry =
              [](const Configuration&, const Problem&) {
                return LaunchGeometry{.block = {32, 1, 1}};
              },
          .shared_bytes = [](const Configuration&) { return std::int64_t{0}; },
          .tile_shape =
              [](const Configuration& c) { return TileShape{c.at("X"), c.at("A"), 1, 1, 0, 0, 0}; },
          .limiting_problems = {kSmall}};
}
inline constexpr std::int64_t kValid = 10 + 10 + 6 + 5;

inline DeviceInfo fake_device() {
  DeviceInfo device;
  device.label = "Test GPU";
  device.compute_major = 9;
  device.sm.threads_per_block = 1024;
  device.shared_per_block = 48 << 10;
  device.sm.shared_per_block = 227 << 10;
  device.driver_release = "580.1";
  return device;
}

// X = 7, A = 2 is the fastest by far for the small problem, X = 3, A = 4 for the large one.
inline double time_us(const MeasureRequest& request) {
  const int x = macro(request.cubin, "X");
  const int y = macro(request.cubin, "A");
  const bool large = request.problem == kLarge;
  const int best_x = large ? 3 : 7;
  const int best_y = large ? 4 : 2;
  return (large ? 100.0 : 10.0) * (1 + 0.1 * std::abs(x - best_x) + 0.2 * std::abs(y - best_y));
}

struct TuneFixture {
  std::shared_ptr<Script> script = std::make_shared<Script>();
  KernelTemplate kernel = fake_template();
  TuningDatabase database = TuningDatabase::in_memory();
  TuneRequest request;
  TunerSetup setup{.kernels = built_in_kernels()};
  std::stop_source stop;
  std::vector<Trial> seen;

  TuneFixture() {
    script->measure = [](const MeasureRequest& m) {
      return WorkerOutcome(WorkerReply(measured(time_us(m))));
    };
    request.problems = {kSmall};
    request.templates = {&kernel};
    setup.device = fake_device();
    setup.make_compile_worker = [this] { return std::make_unique<ScriptedWorker>(script); };
    setup.measuring = {{setup.device, setup.make_compile_worker, {}}};
    setup.compile_jobs = 2;
    setup.database = &database;
  }

  TuneReport run() {
    return tune(
        request, setup,
        [this](const TuneProgress& p) {
          if (p.last) seen.push_back(*p.last);
        },
        stop.get_token());
  }

  // Lets trials of one configuration come out otherwise.
  void answer(int x, int y, WorkerOutcome outcome) {
    script->measure = [x, y, outcome, before = script->measure](const MeasureRequest& m) {
      return macro(m.cubin, "X") == x && macro(m.cubin, "A") == y ? outcome : before(m);
    };
  }
};

inline MeasureReply failed(TrialStatus status) {
  MeasureReply reply;
  reply.status = status;
  reply.detail = "as scripted";
  return reply;
}

}  // namespace autotune::test
