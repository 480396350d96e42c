// Kernels that take alpha and beta as addresses compute what those that take them as values do.
#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/context.hpp"
#include "tests/device/kernel_sample.hpp"
#include "tests/device/operands.hpp"

namespace autotune {
namespace {

Operands random_operands(const GemmProblem& problem) {
  Operands operands(problem);
  std::mt19937 random(7);
  fill_uniform(operands.a, random);
  fill_uniform(operands.b, random);
  return operands;
}

// Sampled configurations of a template, each with a call's results for PointerMode::host.
class Kernels {
 public:
  Kernels(const Gpu& gpu, const KernelTemplate& kernel, const GemmProblem& problem)
      : gpu_(gpu),
        kernel_(kernel),
        problem_(problem),
        all_(sampled(all_configurations(kernel, gpu.device), /*otherwise=*/8)),
        by_value_(compiled({})),
        by_address_(compiled({"SCALARS_IN_MEMORY=1"})) {}

  void check(const DeviceProduct& product, const Factors& factors, bool is_scaled_alone) const {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      CAPTURE(to_string(all_[i]));
      Factors at_address = factors;
      at_address.mode = PointerMode::device;
      const std::vector<float> result = run(by_address_[i], all_[i], product, at_address);
      if (is_scaled_alone) {
        const float scaled = factors.beta == 0 ? 0 : factors.beta * factors.c;
        CHECK(std::ranges::all_of(result, [&](float each) { return each == scaled; }));
      } else {
        CHECK(result == run(by_value_[i], all_[i], product, factors));
      }
    }
  }

 private:
  [[nodiscard]] std::vector<std::string> compiled(const std::vector<std::string>& more) const {
    CodeTraits traits = code_traits(kernel_, problem_);
    traits.aligned = false;
    traits.macros.insert(traits.macros.end(), more.begin(), more.end());
    return compile_all(gpu_, kernel_, all_, traits);
  }
  [[nodiscard]] std::vector<float> run(const std::string& image, const Configuration& configuration,
                                       const DeviceProduct& product, const Factors& factors) const {
    REQUIRE(!image.empty());
    const gpu::Module module(*gpu_.driver, image);
    const LaunchGeometry geometry =
        kernel_.geometry(configuration, problem_).on_device(gpu_.device.sm_count).without_maps();
    return product.result(kernel_, module.kernel(kernel_.name), geometry, /*prepared=*/0, factors);
  }

  const Gpu& gpu_;
  const KernelTemplate& kernel_;
  GemmProblem problem_;
  std::vector<Configuration> all_;
  std::vector<std::string> by_value_;
  std::vector<std::string> by_address_;
};

TEST_SUITE("factors in the device's memory") {
  TEST_CASE("every template reads them when it runs") {
    const std::optional<Gpu> gpu = open_gpu();
    if (!gpu) return;
    const gpu::PrimaryContext context(gpu->driver, 0);
    const gpu::ContextGuard guard(context);
    const gpu::Stream stream(*gpu->driver);
    GemmProblem problem{.m = 131, .n = 258, .k = 600};
    set_layout(problem, "NT");
    Operands operands = random_operands(problem);
    const DeviceProduct product(*gpu, stream, operands, /*gap=*/1);
    operands.a[1000] = std::numeric_limits<float>::quiet_NaN();
    const DeviceProduct with_nan(*gpu, stream, operands, /*gap=*/1);
    for (const KernelTemplate* kernel : chosen_templates(gpu->device)) {
      for (const Math math : {Math::strict, Math::emulated, Math::tf32}) {
        problem.math = math;
        if (!computes(*kernel, problem)) continue;
        CAPTURE(kernel->name);
        CAPTURE(to_string(math));
        const Kernels kernels(*gpu, *kernel, problem);
        kernels.check(product, {.alpha = 1.3F, .beta = -0.7F, .c = 0.37F}, false);
        kernels.check(product, {.alpha = 0.3F}, false);  // C is NaN, and not read
        kernels.check(with_nan, {.alpha = 0, .beta = 3, .c = 0.37F}, true);
        kernels.check(with_nan, {.alpha = 0}, true);
      }
    }
  }
}

}  // namespace
}  // namespace autotune
