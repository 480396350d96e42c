// The CPU device behind the program's own worker processes: the effect of a kernel on its process
// stays there.
#include <chrono>

#include <doctest/doctest.h>

#include "cpu/device.hpp"
#include "cpu_kernels.hpp"
#include "operation/gemm/gemm.hpp"
#include "tests/support/measure_request.hpp"
#include "tuner/worker/worker.hpp"

using namespace autotune;

namespace {

constexpr std::chrono::seconds kPatience{60};

class Workers {
 public:
  // Compiles the kernel in one call and measures it in the next, as the program does.
  WorkerOutcome measure(const std::string& source, std::chrono::milliseconds timeout = kPatience) {
    auto compiled = std::get<CompileReply>(std::get<WorkerReply>(
        worker_->call(CompileRequest{"simple", source, {"-arch=host"}}, kPatience)));
    REQUIRE_MESSAGE(compiled.ok, compiled.log);
    MeasureRequest request = test::request_for({.m = 8, .n = 8, .k = 8});
    request.kernel_name = "simple";
    request.signature = gemm_signature();
    request.cubin = std::move(compiled.cubin);
    request.geometry.block = {8, 8, 1};
    return worker_->call(request, timeout);
  }

 private:
  std::unique_ptr<Worker> worker_ = make_process_worker(AUTOTUNE_PROGRAM, kCpuOrdinal);
};

TrialStatus status_of(const WorkerOutcome& outcome) {
  REQUIRE(std::holds_alternative<WorkerReply>(outcome));
  return std::get<MeasureReply>(std::get<WorkerReply>(outcome)).status;
}

}  // namespace

TEST_SUITE("workers of the CPU device") {
  const std::string right = host_kernels::simple("", host_kernels::kStore);

  TEST_CASE("a worker answers for the CPU device") {
    CHECK(status_of(Workers().measure(right)) == TrialStatus::ok);
  }

  TEST_CASE("a kernel that crashes takes its worker and no more") {
    Workers workers;
    const WorkerOutcome outcome =
        workers.measure(host_kernels::simple("__builtin_trap();", host_kernels::kStore));
    REQUIRE(std::holds_alternative<WorkerFailure>(outcome));
    CHECK(std::get<WorkerFailure>(outcome).kind == WorkerFailure::Kind::died);
    CHECK(status_of(workers.measure(right)) == TrialStatus::ok);
  }

  TEST_CASE("a kernel that never ends is killed with its worker") {
    Workers workers;
    const WorkerOutcome outcome = workers.measure(
        host_kernels::simple("while (m > 0) __syncthreads();", host_kernels::kStore),
        std::chrono::milliseconds(300));
    REQUIRE(std::holds_alternative<WorkerFailure>(outcome));
    CHECK(std::get<WorkerFailure>(outcome).kind == WorkerFailure::Kind::timed_out);
    CHECK(status_of(workers.measure(right)) == TrialStatus::ok);
  }
}
