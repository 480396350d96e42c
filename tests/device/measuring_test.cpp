// The GPU service on a real GPU: its reply for a right kernel, that it catches every planted
// fault, and that it leaves the caller's context alone.
#include <chrono>
#include <cstdio>
#include <filesystem>

#include <doctest/doctest.h>

#include "gpu/memory.hpp"
#include "gpu/shared_library.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "operation/gemm/gemm.hpp"
#include "tests/device/gpu_fixture.hpp"
#include "tests/device/planted_kernels.hpp"
#include "tests/support/measure_request.hpp"
#include "tuner/measure/gpu_service.hpp"
#include "tuner/measure/gpu_workspace.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {
namespace {

constexpr GemmProblem kProblem{.m = 100, .n = 70, .k = 50};

std::string image_of(const Gpu& gpu, const std::string& fault) {
  const gpu::CompileResult result =
      gpu.nvrtc->compile("planted", planted_source(fault), {"-arch=" + gpu.target});
  CAPTURE(result.log);
  REQUIRE(result.ok);
  return result.image;
}

MeasureRequest request_for(const Gpu& gpu, const std::string& fault,
                           const GemmProblem& problem = kProblem) {
  MeasureRequest request = test::request_for(problem);
  request.kernel_name = "planted";
  request.signature = gemm_signature();
  request.cubin = image_of(gpu, fault);
  request.geometry = plain_geometry(problem);
  request.timing.samples = 2;
  return request;
}

MeasureReply measured(WorkerService& service, const MeasureRequest& request) {
  return std::get<MeasureReply>(service.handle(request));
}

MeasureReply measured(Worker& worker, const MeasureRequest& request) {
  const WorkerOutcome outcome = worker.call(request, std::chrono::seconds(60));
  REQUIRE(std::holds_alternative<WorkerReply>(outcome));
  return std::get<MeasureReply>(std::get<WorkerReply>(outcome));
}

std::unique_ptr<Worker> process_worker() {
  return make_process_worker(AUTOTUNE_PROGRAM, 0);
}

// In this process: for faults that leave the context usable.
void check_caught(const std::string& fault, TrialStatus status, const std::string& words) {
  const std::optional<Gpu> gpu = open_gpu();
  if (!gpu) return;
  const auto service = make_gpu_service(0);
  const MeasureReply reply = measured(*service, request_for(*gpu, fault));
  CAPTURE(reply.detail);
  CHECK(reply.status == status);
  CHECK(reply.detail.find(words) != std::string::npos);
  CHECK_FALSE(reply.poisoned);
  // A right kernel is right afterwards.
  CHECK(measured(*service, request_for(*gpu, PlantedFault::kNone)).status == TrialStatus::ok);
}

// In a process of its own, which is replaced afterwards.
void check_poisons(const std::string& fault) {
  const std::optional<Gpu> gpu = open_gpu();
  if (!gpu) return;
  const auto worker = process_worker();
  const MeasureReply reply = measured(*worker, request_for(*gpu, fault));
  CAPTURE(reply.detail);
  CHECK(reply.status == TrialStatus::launch_failed);
  CHECK(reply.poisoned);
  CHECK(!reply.detail.empty());
  CHECK(measured(*worker, request_for(*gpu, PlantedFault::kNone)).status == TrialStatus::ok);
}

void* current_context() {
  const auto driver = gpu::SharedLibrary::open("libcuda.so.1");
  void* context = nullptr;
  REQUIRE(driver->function<int (*)(void**)>("cuCtxGetCurrent")(&context) == 0);
  return context;
}

TEST_SUITE("MeasuringOnDevice") {
  TEST_CASE("a right kernel is verified and timed") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto service = make_gpu_service(0);
    const MeasureReply reply = measured(*service, request_for(*gpu, PlantedFault::kNone));
    CAPTURE(reply.detail);
    REQUIRE(reply.status == TrialStatus::ok);
    CHECK(reply.verification.integers_exact);
    CHECK(reply.verification.error_bound ==
          gemm_operation().error_bound(kProblem, InputData::uniform));
    CHECK(reply.verification.max_error_ratio > 0);
    CHECK(reply.verification.max_error_ratio <= reply.verification.error_bound);
    CHECK(reply.verification.frobenius_error > 0);
    CHECK(reply.verification.frobenius_error < 1e-5);
    CHECK(reply.measurement.samples_us.size() == 2);
    CHECK(reply.measurement.median_us > 0);
    CHECK(reply.measurement.launches_per_sample > 1);
    CHECK_FALSE(reply.measurement.screened_out);
  }

  TEST_CASE("one product by any arithmetic has one set of data") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const gpu::PrimaryContext context(gpu->driver, 0);
    const gpu::ContextGuard guard(context);
    const gpu::Stream stream(*gpu->driver);
    MeasuringKernels kernels(*gpu->driver, *gpu->nvrtc, gpu->target);
    WorkspaceCache workspaces(kernels, stream, gpu->device);
    const auto workspace_of = [&](const GemmProblem& problem) {
      std::string why;
      const GpuWorkspace* found = workspaces.find_or_make(test::request_for(problem), why);
      CAPTURE(why);
      REQUIRE(found != nullptr);
      return found;
    };
    GemmProblem problem = kProblem;
    const GpuWorkspace* const strict = workspace_of(problem);
    for (const Math math : {Math::emulated, Math::tf32}) {
      problem.math = math;
      CHECK(workspace_of(problem) == strict);
    }
    set_layout(problem, "TN");
    CHECK(workspace_of(problem) != strict);
    CHECK(workspace_of({.m = 101, .n = 70, .k = 50}) != strict);
  }

  TEST_CASE("every layout and kind of input is verified with the same kernels") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto service = make_gpu_service(0);
    const KernelTemplate& kernel = *built_in_kernels().find("gemm_tiled");
    for (const char* layout : {"NN", "NT", "TN", "TT"}) {
      for (const InputData input : {InputData::uniform, InputData::linear}) {
        GemmProblem problem = kProblem;
        set_layout(problem, layout);
        const Configuration configuration = kernel.default_configuration(problem);
        MeasureRequest request;
        request.input = input;
        test::set_problem(request, problem);
        request.kernel_name = kernel.name;
        request.signature = kernel.signature(request.problem);
        request.cubin = gpu->nvrtc
                            ->compile(kernel.name, std::string(kernel.source),
                                      compile_options(kernel, configuration,
                                                      code_traits(kernel, problem), gpu->target))
                            .image;
        request.geometry = kernel.geometry(configuration, problem);
        request.timing.samples = 1;
        const MeasureReply reply = measured(*service, request);
        CAPTURE(layout);
        CAPTURE(reply.detail);
        CHECK(reply.status == TrialStatus::ok);
      }
    }
  }

  TEST_CASE("the launches of a sample are as many as were asked for") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto service = make_gpu_service(0);
    MeasureRequest request = request_for(*gpu, PlantedFault::kNone);
    request.timing.launches_per_sample = 10;
    request.timing.samples = 3;
    const MeasureReply reply = measured(*service, request);
    CHECK(reply.measurement.launches_per_sample == 10);
    CHECK(reply.measurement.samples_us.size() == 3);
  }

  TEST_CASE("a kernel far behind is screened out after one sample") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto service = make_gpu_service(0);
    MeasureRequest request = request_for(*gpu, PlantedFault::kNone, {.m = 512, .n = 512, .k = 512});
    request.timing.stop_above_us = 1e-3;
    const MeasureReply reply = measured(*service, request);
    CHECK(reply.status == TrialStatus::ok);
    CHECK(reply.measurement.screened_out);
    CHECK(reply.measurement.samples_us.size() == 1);
    CHECK(reply.verification.integers_exact);
  }

  TEST_CASE("nothing is timed when no samples are asked for") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto service = make_gpu_service(0);
    MeasureRequest request = request_for(*gpu, PlantedFault::kNone);
    request.timing.samples = 0;
    const MeasureReply reply = measured(*service, request);
    CHECK(reply.status == TrialStatus::ok);
    CHECK(reply.verification.integers_exact);
    CHECK(reply.measurement.samples_us.empty());
  }

  TEST_CASE("a kernel can be timed without being verified") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto service = make_gpu_service(0);
    MeasureRequest request = request_for(*gpu, PlantedFault::kNone);
    request.verify = false;
    const MeasureReply reply = measured(*service, request);
    CHECK(reply.status == TrialStatus::ok);
    CHECK(reply.measurement.samples_us.size() == 2);
    CHECK_FALSE(reply.verification.integers_exact);
  }

  TEST_CASE("each algorithm of cublas is verified and timed on the same data") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto service = make_gpu_service(0);
    MeasureRequest request = test::request_for(kProblem);
    request.baseline = "cublas";
    const MeasureReply reply = measured(*service, request);
    if (reply.status == TrialStatus::load_failed) {
      std::printf("SKIPPED: %s\n", reply.detail.c_str());
      return;
    }
    CAPTURE(reply.detail);
    CHECK(reply.status == TrialStatus::ok);
    CHECK(reply.verification.integers_exact);
    CHECK(reply.measurement.median_us > 0);
    CHECK(reply.detail.find('.') != std::string::npos);
    for (request.algorithm = 1;; ++request.algorithm) {
      const MeasureReply other = measured(*service, request);
      if (other.status == TrialStatus::load_failed) break;
      CAPTURE(request.algorithm);
      CAPTURE(other.detail);
      CHECK(other.status == TrialStatus::ok);
      CHECK(other.verification.integers_exact);
    }
    CHECK(request.algorithm > 1);
  }

  TEST_CASE("calibration gives both rates") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto service = make_gpu_service(0);
    const auto reply = std::get<CalibrateReply>(service->handle(CalibrateRequest()));
    CHECK(reply.problem == "");
    CHECK(reply.fma_gflops > 0);
    CHECK(reply.copy_gbps > 0);
    std::printf("%s: %.0f GFLOP/s, %.0f GB/s\n", gpu->device.label.c_str(), reply.fma_gflops,
                reply.copy_gbps);
  }

  TEST_CASE("a problem beyond the memory is refused in words") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto service = make_gpu_service(0);
    MeasureRequest request = request_for(*gpu, PlantedFault::kNone);
    test::set_problem(request, GemmProblem{.m = 2147483647, .n = 2147483647, .k = 2147483647});
    const MeasureReply reply = measured(*service, request);
    CHECK(reply.status == TrialStatus::out_of_memory);
    CHECK(reply.detail.find("GiB are free") != std::string::npos);
    CHECK_FALSE(reply.poisoned);
  }

  TEST_CASE("a result of more than 2 to the 31 elements is verified to its end") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    constexpr std::int64_t kNeeded = std::int64_t{48} << 30;
    if (gpu->device.memory_bytes < kNeeded) {
      std::printf("SKIPPED: needs a GPU with 48 GiB\n");
      return;
    }
    const auto service = make_gpu_service(0);
    const GemmProblem problem{.m = 46400, .n = 46400, .k = 3};
    MeasureRequest request = request_for(*gpu, PlantedFault::kNone, problem);
    request.timing.samples = 0;
    CHECK(measured(*service, request).status == TrialStatus::ok);
    request.cubin = image_of(*gpu, PlantedFault::kWrongLastRow);
    const MeasureReply reply = measured(*service, request);
    CHECK(reply.status == TrialStatus::wrong_result);
    CHECK(reply.detail.find("the first in row 46399, column 0") != std::string::npos);
  }

  TEST_CASE("a wrong element is caught") {
    check_caught(PlantedFault::kWrongElement, TrialStatus::wrong_result, "row 3, column 5");
  }
  TEST_CASE("a wrong last row is caught") {
    check_caught(PlantedFault::kWrongLastRow, TrialStatus::wrong_result, "the first in row 99");
  }
  TEST_CASE("a small relative error is caught") {
    check_caught(PlantedFault::kSlightlyWrong, TrialStatus::wrong_result, "on integers");
  }
  TEST_CASE("a result that is NaN is caught") {
    check_caught(PlantedFault::kNotANumber, TrialStatus::wrong_result, "1 of 7000 elements");
  }
  TEST_CASE("a kernel that writes nothing is caught") {
    check_caught(PlantedFault::kWritesNothing, TrialStatus::wrong_result, "7000 of 7000");
  }
  TEST_CASE("a kernel wrong on its second run is caught") {
    check_caught(PlantedFault::kWrongOnSecondRun, TrialStatus::wrong_result, "on random data");
  }
  TEST_CASE("a kernel wrong on later runs is caught") {
    check_caught(PlantedFault::kWrongLater, TrialStatus::wrong_result, "after repeated launches");
  }
  TEST_CASE("a kernel that stops working on later runs is caught") {
    check_caught(PlantedFault::kLazyLater, TrialStatus::wrong_result, "after repeated launches");
  }
  TEST_CASE("one element beyond C is caught") {
    check_caught(PlantedFault::kOneBeyond, TrialStatus::out_of_bounds,
                 "1 word outside of the output");
  }
  TEST_CASE("one element before C is caught") {
    check_caught(PlantedFault::kOneBefore, TrialStatus::out_of_bounds,
                 "1 word outside of the output");
  }
  TEST_CASE("a row beyond C is caught") {
    check_caught(PlantedFault::kRowBeyond, TrialStatus::out_of_bounds,
                 "70 words outside of the output");
  }
  TEST_CASE("a kernel that spoils its input does not spoil the next one") {
    check_caught(PlantedFault::kSpoilsInput, TrialStatus::wrong_result, "on integers");
  }

  TEST_CASE("too much shared memory is a failed launch") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto service = make_gpu_service(0);
    MeasureRequest request = request_for(*gpu, PlantedFault::kNone);
    request.geometry.dynamic_shared_bytes = 10 << 20;
    const MeasureReply reply = measured(*service, request);
    CHECK(reply.status == TrialStatus::launch_failed);
    CHECK_FALSE(reply.poisoned);
    request.geometry.dynamic_shared_bytes = 0;
    CHECK(measured(*service, request).status == TrialStatus::ok);
  }

  TEST_CASE("a block or grid that no device takes is a failed launch") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto service = make_gpu_service(0);
    MeasureRequest request = request_for(*gpu, PlantedFault::kNone);
    request.geometry.block = {2048, 1, 1};
    CHECK(measured(*service, request).status == TrialStatus::launch_failed);
    request.geometry = plain_geometry(kProblem);
    request.geometry.grid[0] += std::int64_t{1} << 32;  // in 32 bits, the right size
    const MeasureReply reply = measured(*service, request);
    CHECK(reply.status == TrialStatus::launch_failed);
    CHECK_FALSE(reply.poisoned);
  }

  TEST_CASE("bytes that are not a kernel fail to load") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto service = make_gpu_service(0);
    const MeasureRequest good = request_for(*gpu, PlantedFault::kNone);
    MeasureRequest bad = good;
    bad.cubin = "not a kernel";
    CHECK(measured(*service, bad).status == TrialStatus::load_failed);
    bad.cubin = good.cubin.substr(0, good.cubin.size() / 2);
    CHECK(measured(*service, bad).status == TrialStatus::load_failed);
    bad = good;
    bad.kernel_name = "other";
    CHECK(measured(*service, bad).status == TrialStatus::load_failed);
    CHECK(measured(*service, good).status == TrialStatus::ok);
  }

  TEST_CASE("a store to nowhere poisons the process") {
    check_poisons(PlantedFault::kNullStore);
  }
  TEST_CASE("a misaligned store poisons the process") {
    check_poisons(PlantedFault::kMisaligned);
  }
  TEST_CASE("a trap poisons the process") {
    check_poisons(PlantedFault::kTrap);
  }

  TEST_CASE("an endless loop is ended at the timeout") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto worker = process_worker();
    const MeasureRequest right = request_for(*gpu, PlantedFault::kNone);
    REQUIRE(measured(*worker, right).status == TrialStatus::ok);
    const WorkerOutcome outcome =
        worker->call(request_for(*gpu, PlantedFault::kEndless), std::chrono::seconds(3));
    REQUIRE(std::holds_alternative<WorkerFailure>(outcome));
    CHECK(std::get<WorkerFailure>(outcome).kind == WorkerFailure::Kind::timed_out);
    CHECK(measured(*worker, right).status == TrialStatus::ok);
  }

  TEST_CASE("the caller keeps its current context") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto service = make_gpu_service(0);
    REQUIRE(current_context() == nullptr);
    const MeasureRequest request = request_for(*gpu, PlantedFault::kNone);
    CHECK(measured(*service, request).status == TrialStatus::ok);
    CHECK(current_context() == nullptr);

    const gpu::PrimaryContext context(gpu->driver, 0);
    const gpu::ContextGuard guard(context);
    CHECK(measured(*service, request).status == TrialStatus::ok);
    CHECK(current_context() == context.handle());
  }

  TEST_CASE("measuring kernel after kernel takes no more memory") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const gpu::PrimaryContext context(gpu->driver, 0);
    const gpu::ContextGuard guard(context);
    const auto service = make_gpu_service(0);
    MeasureRequest request = request_for(*gpu, PlantedFault::kNone);
    request.timing.samples = 1;
    request.timing.min_sample_us = 100;
    const auto measure_others = [&](int count) {
      for (int i = 0; i < count; ++i) {
        request.cubin += '\0';  // the same code, but another kernel to the service
        REQUIRE(measured(*service, request).status == TrialStatus::ok);
      }
    };
    measure_others(100);  // as many as the service keeps, and more
    const std::size_t before = gpu::memory_info(*gpu->driver).free_bytes;
    measure_others(400);
    // Other programs, a desktop say, may take some meanwhile.
    constexpr std::size_t kOthers = std::size_t{64} << 20;
    CHECK(gpu::memory_info(*gpu->driver).free_bytes + kOthers >= before);
  }
}

}  // namespace
}  // namespace autotune
