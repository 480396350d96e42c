// Runs of a kernel on the same operands give the same bits, whichever block comes first: with
// values whose sums depend on their order, and with operands that were prepared before.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include <doctest/doctest.h>

#include "gpu/context.hpp"
#include "tests/device/kernel_sample.hpp"
#include "tests/device/operands.hpp"

namespace autotune {
namespace {

std::uint64_t differences(const std::vector<float>& one, const std::vector<float>& other) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    count += std::bit_cast<std::uint32_t>(one[i]) != std::bit_cast<std::uint32_t>(other[i]);
  }
  return count;
}

void check_repeated(const Gpu& gpu, const KernelTemplate& kernel, const DeviceProduct& product,
                    const GemmProblem& problem, bool aligned) {
  constexpr std::size_t kShare = 32;
  constexpr int kRuns = 5;
  const std::vector<Configuration> all = sampled(all_configurations(kernel, gpu.device), kShare);
  CodeTraits traits = code_traits(kernel, problem);
  traits.aligned = aligned;
  const std::vector<std::string> images = compile_all(gpu, kernel, all, traits);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(to_string(all[i]));
    REQUIRE(!images[i].empty());
    const gpu::Module module(*gpu.driver, images[i]);
    const gpu::Kernel loaded = module.kernel(kernel.name);
    LaunchGeometry geometry = kernel.geometry(all[i], problem);
    if (!aligned) geometry = geometry.without_maps();
    // On a smaller device blocks that share all work have several tiles and parts of tiles.
    std::vector<int> sm_counts = {gpu.device.sm_count};
    if (geometry.resident_blocks_per_sm > 0) sm_counts.push_back(3);
    for (const int sm_count : sm_counts) {
      CAPTURE(sm_count);
      const LaunchGeometry launch = geometry.on_device(sm_count);
      const std::vector<float> first = product.result(kernel, loaded, launch);
      REQUIRE(std::ranges::all_of(first, [](float value) { return std::isfinite(value); }));
      for (int run = 1; run < kRuns; ++run) {
        REQUIRE(differences(first, product.result(kernel, loaded, launch)) == 0);
      }
      if (!takes_prepared(kernel, problem)) continue;
      for (const unsigned prepared : {1U, 2U, 3U}) {
        CAPTURE(prepared);
        REQUIRE(differences(first, product.result(kernel, loaded, launch, prepared)) == 0);
      }
    }
  }
  std::printf("%s %s %s%s: %zu configurations\n", kernel.name.c_str(), to_string(problem).c_str(),
              to_string(problem.math).c_str(), aligned ? " aligned" : "", all.size());
}

// With every template that computes it in this math and not in a stricter one.
void check_problem(GemmProblem problem) {
  const std::optional<Gpu> gpu = open_gpu();
  if (!gpu) return;
  const gpu::PrimaryContext context(gpu->driver, 0);
  const gpu::ContextGuard guard(context);
  const gpu::Stream stream(*gpu->driver);
  std::mt19937 random(1);
  Operands operands(problem);
  fill_uniform(operands.a, random);
  fill_uniform(operands.b, random);
  const GemmProblem strict = problem;
  for (const bool aligned : {false, true}) {
    const DeviceProduct product(*gpu, stream, operands, aligned ? 0 : 1);
    for (const Math math : {Math::strict, Math::emulated, Math::tf32}) {
      problem.math = math;
      for (const KernelTemplate* kernel : chosen_templates(gpu->device)) {
        const bool is_computed =
            computes(*kernel, problem) && (math == Math::strict || !computes(*kernel, strict));
        if (!is_computed || (aligned && !kernel->knows_alignment)) continue;
        check_repeated(*gpu, *kernel, product, problem, aligned);
      }
    }
  }
}

TEST_SUITE("repeated runs on a GPU") {
  TEST_CASE("every configuration gives the same bits in every run") {
    check_problem({.m = 132, .n = 260, .k = 1020});
  }
  TEST_CASE("every configuration gives the same bits in every run with few rows") {
    check_problem({.m = 12, .n = 260, .k = 4100});
  }
}

}  // namespace
}  // namespace autotune
