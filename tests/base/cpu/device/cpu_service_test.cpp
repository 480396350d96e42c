#include "tuner/measure/cpu_service.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "cpu/device.hpp"
#include "cpu_kernels.hpp"
#include "operation/gemm/gemm.hpp"
#include "tests/support/measure_request.hpp"

using namespace autotune;

namespace {

// A service that has compiled the given kernel, named `simple`, and measures it.
class Bench {
 public:
  explicit Bench(const std::string& source) : service_(make_cpu_service()) {
    auto reply = std::get<CompileReply>(service_->handle(CompileRequest{"simple", source, {}}));
    REQUIRE_MESSAGE(reply.ok, reply.log);
    request.cubin = std::move(reply.cubin);
    request.kernel_name = "simple";
    request.signature = gemm_signature();
    request.timing.min_sample_us = 0;
    request.timing.samples = 2;
  }

  MeasureReply measure(const GemmProblem& problem) {
    test::set_problem(request, problem);
    request.geometry.block = {8, 8, 1};
    request.geometry.grid = {(problem.m + 7) / 8 * ((problem.n + 7) / 8), 1, 1};
    return std::get<MeasureReply>(service_->handle(request));
  }

  MeasureRequest request;

 private:
  std::unique_ptr<WorkerService> service_;
};

std::string right() {
  return host_kernels::simple("", host_kernels::kStore);
}

constexpr GemmProblem kSmall{.m = 20, .n = 13, .k = 9};
constexpr GemmProblem kLarge{.m = 1000, .n = 1000, .k = 1000};  // run in part

}  // namespace

TEST_SUITE("CpuService") {
  TEST_CASE("it describes its compiler") {
    const auto reply =
        std::get<DescribeCompilerReply>(make_cpu_service()->handle(DescribeCompilerRequest{}));
    CHECK(reply.problem.empty());
    CHECK_FALSE(reply.build.empty());
    CHECK(std::filesystem::exists(reply.path));
    CHECK(reply.architectures == std::vector<std::string>{cpu_device_info().architecture()});
  }

  TEST_CASE("a source that does not compile gives its log") {
    const auto service = make_cpu_service();
    const auto reply = std::get<CompileReply>(service->handle(CompileRequest{"x", "oops", {}}));
    CHECK_FALSE(reply.ok);
    CHECK(reply.log.find("oops") != std::string::npos);
  }

  TEST_CASE("a right kernel is verified and timed") {
    const MeasureReply reply = Bench(right()).measure(kSmall);
    CHECK_MESSAGE(reply.status == TrialStatus::ok, reply.detail);
    CHECK(reply.detail.empty());
    CHECK(reply.measurement.samples_us.size() == 2);
    CHECK(reply.measurement.median_us > 0);
    CHECK(reply.measurement.launches_per_sample == 1);
    CHECK(reply.verification.integers_exact);
    CHECK(reply.verification.max_error_ratio > 0);
    CHECK(reply.verification.error_bound == 12);
    CHECK(reply.verification.max_error_ratio <= reply.verification.error_bound);
    CHECK(reply.verification.frobenius_error < 1e-6);
  }

  TEST_CASE("linear data is verified too") {
    Bench bench(right());
    bench.request.input = InputData::linear;
    CHECK(bench.measure(kSmall).status == TrialStatus::ok);
  }

  TEST_CASE("verification and timing can be asked for alone") {
    Bench bench(right());
    bench.request.timing.samples = 0;
    MeasureReply reply = bench.measure(kSmall);
    CHECK(reply.verification.integers_exact);
    CHECK(reply.measurement.samples_us.empty());
    bench.request.timing.samples = 1;
    bench.request.verify = false;
    bench.request.timing.launches_per_sample = 3;
    reply = bench.measure(kSmall);
    CHECK_FALSE(reply.verification.integers_exact);
    CHECK(reply.measurement.samples_us.size() == 1);
    CHECK(reply.measurement.launches_per_sample == 3);
  }

  TEST_CASE("sampling stops behind the limit") {
    Bench bench(right());
    bench.request.timing.samples = 5;
    bench.request.timing.stop_above_us = 1e-3;
    const MeasureReply reply = bench.measure(kSmall);
    CHECK(reply.status == TrialStatus::ok);
    CHECK(reply.measurement.screened_out);
    CHECK(reply.measurement.samples_us.size() == 1);
  }

  TEST_CASE("a large problem is run in part and says so") {
    const MeasureReply reply = Bench(right()).measure(kLarge);
    CHECK(reply.status == TrialStatus::ok);
    CHECK(reply.detail == "262 of 15,625 blocks");
  }

  TEST_CASE("a wrong last row is found") {
    const std::string wrong = host_kernels::simple("", R"(
        if (row == m - 1) sum += 1;
        c[row * ldc + column] = alpha * sum;)");
    MeasureReply reply = Bench(wrong).measure(kSmall);
    CHECK(reply.status == TrialStatus::wrong_result);
    CHECK(reply.detail ==
          "13 of 260 elements are wrong on integers, the first in row 19, column 0");
    reply = Bench(wrong).measure(kLarge);
    CHECK(reply.status == TrialStatus::wrong_result);
    CHECK(reply.detail.find("the first in row 999, column 0") != std::string::npos);
  }

  TEST_CASE("a missing last row is found") {
    const std::string wrong =
        host_kernels::simple("if (row == m - 1) return;", host_kernels::kStore);
    CHECK(Bench(wrong).measure(kSmall).status == TrialStatus::wrong_result);
    CHECK(Bench(wrong).measure(kLarge).status == TrialStatus::wrong_result);
  }

  TEST_CASE("a missing last row of each block is found") {
    const std::string wrong =
        host_kernels::simple("if (threadIdx.y == 7) return;", host_kernels::kStore);
    const MeasureReply reply = Bench(wrong).measure({.m = 400, .n = 400, .k = 400});
    CHECK(reply.status == TrialStatus::wrong_result);
  }

  TEST_CASE("a block that writes nothing is found among a sample") {
    const std::string wrong =
        host_kernels::simple("if (blockIdx.x == gridDim.x - 1) return;", host_kernels::kStore);
    const MeasureReply reply = Bench(wrong).measure(kLarge);
    CHECK(reply.status == TrialStatus::wrong_result);
    CHECK(reply.detail == "1 of 262 blocks wrote no result on integers");
  }

  TEST_CASE("a kernel that is wrong from its second run on is found") {
    // Every copy of the kernel counts the blocks that it has run: at least 9 before the end.
    const std::string wrong =
        host_kernels::simple("if (threadIdx.x + threadIdx.y == 0) ++runs;",
                             "c[row * ldc + column] = alpha * sum + (runs > 2);");
    const MeasureReply reply = Bench(wrong).measure({.m = 8, .n = 8, .k = 4});
    CHECK(reply.status == TrialStatus::wrong_result);
    CHECK(reply.detail.find("on random data") != std::string::npos);
  }

  TEST_CASE("a wrong kernel that writes to its inputs does not spoil the data for the next") {
    Bench bench(right());
    const std::string right_image = bench.request.cubin;
    CHECK(bench.measure(kSmall).status == TrialStatus::ok);
    bench.request.cubin = Bench(host_kernels::simple("", R"(
        if (row == 0 && column == 0) const_cast<float*>(a)[0] += 1;
        c[row * ldc + column] = alpha * sum + 1;)"))
                              .request.cubin;
    CHECK(bench.measure(kSmall).status == TrialStatus::wrong_result);
    bench.request.cubin = right_image;
    CHECK(bench.measure(kSmall).status == TrialStatus::ok);
  }

  TEST_CASE("rounding to half precision is found") {
    const std::string wrong = host_kernels::simple("", R"(
        const unsigned bits = __builtin_bit_cast(unsigned, sum) & 0xffffe000;
        c[row * ldc + column] = __builtin_bit_cast(float, bits);)");
    const MeasureReply reply = Bench(wrong).measure(kSmall);
    CHECK(reply.status == TrialStatus::wrong_result);
    CHECK(reply.detail.find("on random data") != std::string::npos);
    CHECK(reply.verification.integers_exact);
    CHECK(reply.verification.max_error_ratio > reply.verification.error_bound);
  }

  TEST_CASE("a write right behind C is found") {
    const std::string wrong =
        host_kernels::simple("if (row == m && column == 0) c[m * n] = 0;", host_kernels::kStore);
    const MeasureReply reply = Bench(wrong).measure(kSmall);
    CHECK(reply.status == TrialStatus::out_of_bounds);
    CHECK(reply.detail == "wrote to 1 word outside of the output on integers");
  }

  TEST_CASE("a barrier that some threads miss is found") {
    const std::string wrong =
        host_kernels::simple("if (row >= m) return; __syncthreads();", host_kernels::kStore);
    const MeasureReply reply = Bench(wrong).measure(kSmall);
    CHECK(reply.status == TrialStatus::launch_failed);
    CHECK(reply.detail.find("block 4: 32 of 64 threads wait at the barrier in line ") == 0);
  }

  TEST_CASE("an image that is none and a kernel that is not there do not load") {
    Bench bench(right());
    bench.request.kernel_name = "other";
    MeasureReply reply = bench.measure(kSmall);
    CHECK(reply.status == TrialStatus::load_failed);
    CHECK(reply.detail == "the compiled image has no kernel named other");
    bench.request.cubin = "not a library";
    CHECK(bench.measure(kSmall).status == TrialStatus::load_failed);
  }

  TEST_CASE("a block with too many threads is not launched") {
    Bench bench(right());
    bench.measure(kSmall);
    bench.request.geometry.block = {32, 33, 1};
    const auto service = make_cpu_service();
    const auto reply = std::get<MeasureReply>(service->handle(bench.request));
    CHECK(reply.status == TrialStatus::launch_failed);
    CHECK(reply.detail.find("1056 threads") != std::string::npos);
  }

  TEST_CASE("a problem beyond memory is refused") {
    Bench bench(right());
    const MeasureReply reply = bench.measure({.m = 2147483647, .n = 2147483647, .k = 2147483647});
    CHECK(reply.status == TrialStatus::out_of_memory);
    CHECK(reply.detail.find("GiB") != std::string::npos);
  }

  TEST_CASE("there is no cuBLAS") {
    Bench bench(right());
    bench.request.baseline = "cublas";
    const MeasureReply reply = bench.measure(kSmall);
    CHECK(reply.status == TrialStatus::load_failed);
    CHECK(reply.detail == "the CPU device has no cublas");
  }

  TEST_CASE("calibration gives rates") {
    const auto reply = std::get<CalibrateReply>(make_cpu_service()->handle(CalibrateRequest{}));
    CHECK(reply.problem.empty());
    CHECK(reply.fma_gflops > 0);
    CHECK(reply.copy_gbps > 0);
  }
}
