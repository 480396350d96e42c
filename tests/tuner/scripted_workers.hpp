// Workers that compile and measure nothing: the test computes their replies.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "tuner/worker/worker.hpp"

namespace autotune::test {

// Shared by all workers of a test; counts what was asked.
struct Script {
  // From the macros of a configuration ("-DX=3 -DY=1 ...") to an answer.
  std::function<WorkerOutcome(const CompileRequest&)> compile;
  // The cubin that a scripted compiler makes is its macros, as text.
  std::function<WorkerOutcome(const MeasureRequest&)> measure;
  std::string nvrtc_build = "13.0.88 CL-1";
  bool compiler_hangs = false;
  int deaths_at_start = 0;  // this many questions about the compiler kill the worker
  std::atomic<int> compiles = 0;
  std::atomic<int> measures = 0;
  std::atomic<std::int64_t> describe_timeout_ms = 0;  // of the latest request
  std::atomic<std::int64_t> compile_timeout_ms = 0;
  std::atomic<std::int64_t> measure_timeout_ms = 0;
};

// The value of a macro in "-DX=3 -DY=1".
inline int macro(const std::string& macros, const std::string& name) {
  const std::size_t at = macros.find("-D" + name + "=");
  return at == std::string::npos ? 0 : std::stoi(macros.substr(at + name.size() + 3));
}

inline MeasureReply measured(double median_us) {
  MeasureReply reply;
  reply.measurement.samples_us = {median_us};
  reply.measurement.median_us = median_us;
  reply.measurement.launches_per_sample = 1;
  reply.verification.integers_exact = true;
  return reply;
}

class ScriptedWorker : public Worker {
 public:
  explicit ScriptedWorker(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  WorkerOutcome call(const WorkerRequest& request, CallLimit limit) override {
    if (std::holds_alternative<DescribeCompilerRequest>(request)) {
      script_->describe_timeout_ms = limit.from_now().count();
      if (script_->compiler_hangs) {
        return WorkerFailure{WorkerFailure::Kind::timed_out, "no answer within 10 ms, killed"};
      }
      if (script_->deaths_at_start > 0 && script_->deaths_at_start-- > 0) {
        return WorkerFailure{WorkerFailure::Kind::died, "killed by signal 9 (SIGKILL)"};
      }
      return WorkerReply(DescribeCompilerReply{script_->nvrtc_build, "", {"sm_90", "cpu"}, ""});
    }
    if (std::holds_alternative<CalibrateRequest>(request)) {
      return WorkerReply(CalibrateReply{60000, 4000, ""});
    }
    if (const auto* compile = std::get_if<CompileRequest>(&request)) {
      ++script_->compiles;
      script_->compile_timeout_ms = limit.from_now().count();
      return script_->compile ? script_->compile(*compile) : compiled(*compile);
    }
    ++script_->measures;
    script_->measure_timeout_ms = limit.from_now().count();
    return script_->measure(std::get<MeasureRequest>(request));
  }

  static WorkerOutcome compiled(const CompileRequest& request) {
    CompileReply reply{.ok = true};
    for (const std::string& option : request.options) reply.cubin += option + " ";
    reply.resources = {.registers = 32, .spill_bytes = 0, .shared_bytes = 0};
    return WorkerReply(reply);
  }

 private:
  std::shared_ptr<Script> script_;
};

}  // namespace autotune::test
