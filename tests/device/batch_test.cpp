// Batches on a real GPU: the measuring service verifies every matrix of a batch, and what lies
// between them, with configurations from all over each template's space.
#include <algorithm>

#include <doctest/doctest.h>

#include "kernel_templates/kernel_set.hpp"
#include "operation/gemm/gemm.hpp"
#include "tests/device/gpu_fixture.hpp"
#include "tests/support/measure_request.hpp"
#include "tuner/measure/gpu_service.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {
namespace {

constexpr std::size_t kConfigurations = 16;  // of a template, evenly spaced in its space

std::vector<Configuration> some_configurations(const KernelTemplate& kernel,
                                               const DeviceInfo& device) {
  const auto all = kernel.space.enumerate(device_constraints(kernel, device)).configurations;
  std::vector<Configuration> chosen;
  for (std::size_t i = 0; i < std::min(kConfigurations, all.size()); ++i) {
    chosen.push_back(all[i * all.size() / kConfigurations]);
  }
  return chosen;
}

MeasureReply measured(const Gpu& gpu, WorkerService& service, const KernelTemplate& kernel,
                      const Configuration& configuration, const GemmProblem& problem) {
  MeasureRequest request = test::request_for(problem);
  request.kernel_name = kernel.name;
  request.signature = kernel.signature(problem);
  const gpu::CompileResult compiled = gpu.nvrtc->compile(
      kernel.name, std::string(kernel.source),
      compile_options(kernel, configuration, code_traits(kernel, problem), gpu.target));
  CAPTURE(compiled.log);
  REQUIRE(compiled.ok);
  request.cubin = compiled.image;
  request.geometry = kernel.geometry(configuration, problem);
  if (!unpadded_traits(*kernel.operation, problem).aligned) {
    request.geometry = request.geometry.without_maps();
  }
  request.timing.samples = 1;
  return std::get<MeasureReply>(service.handle(request));
}

TEST_SUITE("batches on a GPU") {
  TEST_CASE("every product is right with kernels of every template") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const auto service = make_gpu_service(0);
    GemmProblem transposed{.m = 132, .n = 68, .k = 300, .batch = 3};
    set_layout(transposed, "TT");
    GemmProblem odd{.m = 31, .n = 37, .k = 101, .batch = 9};
    set_layout(odd, "TN");
    const GemmProblem problems[] = {{.m = 128, .n = 128, .k = 128, .batch = 64},
                                    transposed,
                                    odd,
                                    {.m = 5, .n = 300, .k = 2000, .batch = 2}};
    const int capability = 10 * gpu->device.compute_major + gpu->device.compute_minor;
    for (const KernelTemplate& kernel : built_in_kernels().templates()) {
      if (!runs_on(kernel, capability)) continue;
      for (const GemmProblem& problem : problems) {
        if (!computes(kernel, problem)) continue;
        for (const Configuration& configuration : some_configurations(kernel, gpu->device)) {
          const MeasureReply reply = measured(*gpu, *service, kernel, configuration, problem);
          CAPTURE(kernel.name);
          CAPTURE(to_string(configuration));
          CAPTURE(to_string(problem));
          CAPTURE(reply.detail);
          REQUIRE(reply.status == TrialStatus::ok);
        }
      }
    }
  }
}

}  // namespace
}  // namespace autotune
