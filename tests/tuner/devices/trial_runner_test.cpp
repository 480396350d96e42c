// The trials that the runner makes of its worker's replies and failures, with scripted workers.
#include "tuner/devices/trial_runner.hpp"

#include <doctest/doctest.h>

#include "autotune/error.hpp"
#include "autotune/problem.hpp"

#include "operation/gemm/gemm.hpp"
#include "tests/tuner/scripted_workers.hpp"

namespace autotune::test {
namespace {

const Problem kCube = GemmProblem{.m = 64, .n = 64, .k = 64};
constexpr std::int64_t kAllowance_ms = 30'000;

// A template of one parameter, which its launch depends on when it is above 100.
KernelTemplate one_parameter() {
  return {.name = "one",
          .operation = &gemm_operation(),
          .space = ConfigSpace({}, {}),
          .signature = [](const Problem& problem) { return gemm_signature(problem); },
          .geometry =
              [](const Configuration& c, const Problem&) {
                return LaunchGeometry{.block = {c.at("X") > 100 ? c.at("X") : 32, 1, 1}};
              }};
}

struct Bench {
  std::shared_ptr<Script> script = std::make_shared<Script>();
  KernelTemplate kernel = one_parameter();
  TrialRunner runner{[this] { return std::make_unique<ScriptedWorker>(script); },
                     std::chrono::milliseconds(kAllowance_ms)};

  Bench() { answer(measured(10)); }

  void answer(WorkerOutcome outcome) {
    script->measure = [outcome](const MeasureRequest&) { return outcome; };
  }
  void answer(MeasureReply reply) { answer(WorkerOutcome(WorkerReply(std::move(reply)))); }

  Trial run(int x, const std::string& code, MeasureOptions options, Problem problem = kCube) {
    const BuiltKernel built{TrialStatus::ok, "", "image", {.registers = x}, code};
    return runner.run(kernel, Configuration({{"X", x}}), problem, built, options);
  }
  Trial search(int x, const std::string& code, Problem problem = kCube) {
    return run(x, code, {.once_per_code = true}, problem);
  }
};

MeasureReply reply_with(TrialStatus status) {
  MeasureReply reply;
  reply.status = status;
  reply.detail = "as scripted";
  return reply;
}

}  // namespace

TEST_SUITE("TrialRunner") {
  TEST_CASE("what runs the same is measured once, and its trials say so") {
    Bench bench;
    bench.search(1, "code");
    bench.answer(measured(20));
    const Trial second = bench.search(2, "code");
    CHECK(bench.script->measures == 1);
    CHECK(second.ok());
    CHECK(second.measurement.median_us == 10);
    CHECK(second.verification.integers_exact);
    CHECK(second.configuration.at("X") == 2);
    CHECK(second.resources.registers == 2);
    CHECK(second.detail == "the same machine code as X=1");
    CHECK(bench.runner.duplicate_kernels() == 1);
  }

  TEST_CASE("other code, another launch and another problem are measured") {
    Bench bench;
    bench.search(1, "code");
    CHECK(bench.search(2, "other code").detail.empty());
    CHECK(bench.search(128, "code").detail.empty());
    CHECK(bench.search(2, "code", GemmProblem{.m = 64, .n = 64, .k = 65}).detail.empty());
    CHECK(bench.script->measures == 4);
    CHECK(bench.runner.duplicate_kernels() == 0);
  }

  TEST_CASE("outside of a search everything is measured, again and again") {
    Bench bench;
    bench.search(1, "code");
    bench.run(1, "code", {});
    bench.run(2, "code", {});
    CHECK(bench.script->measures == 3);
  }

  TEST_CASE("code that failed is not tried again, unless the failure may not be its own") {
    for (const TrialStatus status : {TrialStatus::wrong_result, TrialStatus::launch_failed}) {
      Bench bench;
      bench.answer(reply_with(status));
      bench.search(1, "code");
      const Trial second = bench.search(2, "code");
      CHECK(second.status == status);
      CHECK(second.detail == "the same machine code as X=1: as scripted");
      CHECK(bench.script->measures == 1);
    }
    Bench bench;
    bench.answer(reply_with(TrialStatus::out_of_memory));
    bench.search(1, "code");
    bench.answer(WorkerFailure{WorkerFailure::Kind::died, "killed by signal 9 (SIGKILL)"});
    CHECK(bench.search(2, "code").status == TrialStatus::run_crashed);
    bench.answer(WorkerFailure{WorkerFailure::Kind::timed_out, "no answer"});
    CHECK(bench.search(3, "code").status == TrialStatus::run_timeout);
    CHECK(bench.search(4, "code").detail == "the same machine code as X=3: no answer");
    CHECK(bench.script->measures == 3);
  }

  TEST_CASE("a worker that cannot serve is replaced, and three in a row are no kernel's fault") {
    Bench bench;
    const WorkerFailure failure{WorkerFailure::Kind::no_service, "there is not enough memory"};
    bench.script->measure = [&](const MeasureRequest&) {
      if (bench.script->measures < 3) return WorkerOutcome(failure);
      return WorkerOutcome(WorkerReply(measured(10)));
    };
    CHECK(bench.search(1, "code").ok());
    CHECK(bench.script->measures == 3);
    bench.answer(failure);
    CHECK_THROWS_WITH_AS(bench.search(2, "other code"),
                         "nothing could be measured on the device: there is not enough memory",
                         EnvironmentError);
    CHECK(bench.script->measures == 6);
  }

  TEST_CASE("a run's time limit follows the best, of a warm worker") {
    Bench bench;
    const MeasureOptions with_best{.timing = {.stop_above_us = 12.5}};
    bench.run(1, "", with_best);
    CHECK(bench.script->measure_timeout_ms >= kAllowance_ms);
    bench.run(1, "", with_best);
    CHECK(bench.script->measure_timeout_ms < kAllowance_ms / 2);

    bench.answer(WorkerFailure{WorkerFailure::Kind::timed_out, "no answer"});
    bench.run(1, "", with_best);
    bench.answer(measured(10));
    bench.run(1, "", with_best);
    CHECK(bench.script->measure_timeout_ms >= kAllowance_ms);  // of the new worker

    MeasureReply poisoned = reply_with(TrialStatus::launch_failed);
    poisoned.poisoned = true;
    bench.answer(poisoned);
    bench.run(1, "", with_best);
    CHECK(bench.script->measure_timeout_ms < kAllowance_ms / 2);
    bench.run(1, "", with_best);
    CHECK(bench.script->measure_timeout_ms >= kAllowance_ms);
  }

  TEST_CASE("a run ends when it has to, whatever its kernel may take") {
    Bench bench;
    const auto now = std::chrono::steady_clock::now();
    bench.run(1, "", {.end = now + std::chrono::seconds(7)});
    CHECK(bench.script->measure_timeout_ms <= 7000);
    bench.run(1, "", {.end = now - std::chrono::seconds(7)});
    CHECK(bench.script->measure_timeout_ms == 0);
    bench.run(1, "", {.end = now + std::chrono::hours(7)});
    CHECK(bench.script->measure_timeout_ms < 2 * kAllowance_ms);
  }

  TEST_CASE("after a worker that cannot be killed there is a trial, and then no other worker") {
    Bench bench;
    bench.answer(WorkerFailure{WorkerFailure::Kind::timed_out, "could not be killed", true});
    CHECK(bench.run(1, "", {}).status == TrialStatus::run_timeout);
    bench.answer(measured(10));
    CHECK_THROWS_WITH_AS(bench.run(2, "", {}), doctest::Contains("could not be killed"),
                         EnvironmentError);
    CHECK_THROWS_AS(bench.runner.calibrate(), EnvironmentError);
    CHECK(bench.script->measures == 1);
  }
}

}  // namespace autotune::test
