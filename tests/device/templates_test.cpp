// The configurations of every kernel template on a real GPU (of a large space about 400 that cover
// every parameter value): bit-exact on integers, nothing touched outside of C, at awkward sizes,
// layouts, scalars, leading dimensions and alignments. Aligned operands meet the kernel that was
// compiled for them, too.
//
// With AUTOTUNE_DEVICE_TEST_SAMPLE they run at the small sizes only, each with every scalar and
// every gap once: for compute-sanitizer (tests/device/kernel_sample.hpp).
#include <algorithm>
#include <cstdio>
#include <deque>

#include <doctest/doctest.h>

#include "core/cubin.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tests/device/kernel_sample.hpp"
#include "tests/device/oracle.hpp"
#include "tests/support/computed_problem.hpp"

namespace autotune {
namespace {

std::vector<Configuration> configurations(const KernelTemplate& kernel, const DeviceInfo& device) {
  auto all = all_configurations(kernel, device);
  constexpr std::size_t kLarge = 2'000;
  constexpr std::size_t kShare = 400;
  return sample_size() == 0 && all.size() <= kLarge ? all : sampled(std::move(all), kShare);
}

std::vector<GemmCase> cases(const std::string& layout, const GemmTypes& types) {
  std::vector<GemmProblem> problems = {
      {1, 1, 1},       {5, 4, 1},       {7, 10, 7},     {33, 36, 33},   {64, 64, 64}, {100, 1, 37},
      {129, 257, 65},  {131, 258, 31},  {132, 260, 65}, {132, 260, 68}, {36, 4, 300}, {33, 36, 200},
      {264, 392, 328}, {24, 200, 3400}, {200, 8, 3400}, {5, 392, 328}};
  // Rows of the last one are prepared in more than one part.
  if (sample_size() == 0) problems.insert(problems.end(), {{1024, 1024, 1024}, {33, 36, 8260}});
  std::vector<GemmCase> all;
  const std::int64_t vector = 16 / size_bytes(types.a);
  for (GemmProblem& problem : problems) {
    set_layout(problem, layout);
    problem.types = types;
    const std::pair<float, float> scalars[] = {{1.0F, 0.0F}, {2.0F, -1.0F}, {0.0F, 1.0F}};
    // Without gaps; rows that keep the alignment of 16 bytes (of A, or where the matrices have it,
    // of all); neither; of B.
    const std::pair<std::int64_t, std::int64_t> gaps[] = {
        {0, 0}, {vector - problem.lda() % vector, 0}, {3, 1}, {3, vector}};
    for (std::size_t s = 0; s < std::size(scalars); ++s) {
      for (std::size_t g = 0; g < std::size(gaps); ++g) {
        if (sample_size() > 0 && s != g % std::size(scalars)) continue;
        all.push_back(
            {problem, scalars[s].first, scalars[s].second, gaps[g].first, gaps[g].second});
      }
    }
  }
  return all;
}

// Every configuration, compiled for operands with these traits, on the cases that have them. The
// launch is one of the mathematics that the traits are for.
void check_template(const Gpu& gpu, const KernelTemplate& kernel, const CodeTraits& traits,
                    Math math, const std::deque<PreparedCase>& prepared) {
  const std::vector<Configuration> all = configurations(kernel, gpu.device);
  REQUIRE(!all.empty());
  const std::vector<std::string> images = compile_all(gpu, kernel, all, traits);
  std::size_t most_checked = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(to_string(all[i]));
    REQUIRE(!images[i].empty());
    const gpu::Module module(*gpu.driver, images[i]);
    const gpu::Kernel loaded = module.kernel(kernel.name);
    std::size_t checked = 0;
    for (const PreparedCase& one : prepared) {
      CAPTURE(to_string(one.gemm()));
      if (traits.aligned && !one.is_aligned()) continue;
      GemmProblem problem = one.gemm().problem;
      problem.math = math;
      if (!computes(kernel, problem)) continue;
      const LaunchGeometry geometry = kernel.geometry(all[i], problem);
      // Blocks that share all work: on a smaller device each has several tiles and parts of tiles.
      std::vector<int> sm_counts = {gpu.device.sm_count};
      if (geometry.resident_blocks_per_sm > 0) sm_counts.insert(sm_counts.end(), {1, 3, 8});
      for (const int sm_count : sm_counts) {
        CAPTURE(sm_count);
        const LaunchGeometry launch = geometry.on_device(sm_count);
        REQUIRE(one.mismatches(loaded, kernel.signature(problem),
                               traits.aligned ? launch : launch.without_maps()) == 0);
      }
      ++checked;
    }
    REQUIRE(checked > 0);
    most_checked = std::max(most_checked, checked);
  }
  std::printf("%s %s %s%s: %zu configurations, up to %zu cases each\n", kernel.name.c_str(),
              layout_text(prepared.front().gemm().problem).c_str(),
              to_string(prepared.front().gemm().problem.types).c_str(),
              traits.aligned ? " aligned" : "", all.size(), most_checked);
}

void check_layout(const std::string& layout) {
  const std::optional<Gpu> gpu = open_gpu();
  if (!gpu) return;
  const gpu::PrimaryContext context(gpu->driver, 0);
  const gpu::ContextGuard guard(context);
  const gpu::Stream stream(*gpu->driver);
  const Oracle oracle(*gpu, stream);
  for (const char* types : {"f32", "bf16", "f16", "bf16-f32", "f16-f32"}) {
    CAPTURE(types);
    std::deque<PreparedCase> prepared;
    for (const GemmCase& gemm : cases(layout, types_from_string(types))) {
      prepared.emplace_back(oracle, gemm);
    }
    for (const KernelTemplate* kernel : chosen_templates(gpu->device)) {
      GemmProblem large{.m = 1024, .n = 1024, .k = 1024};
      set_layout(large, layout);
      large.types = types_from_string(types);
      const GemmProblem few{.m = 8,
                            .n = 1024,
                            .k = 1024,
                            .op_a = large.op_a,
                            .op_b = large.op_b,
                            .types = large.types};
      std::optional<GemmProblem> computed = test::as_computed(*kernel, large);
      if (!computed) computed = test::as_computed(*kernel, few);
      if (!computed) computed = test::as_computed(*kernel, prepared.front().gemm().problem);
      if (!computed) continue;
      CodeTraits traits = code_traits(*kernel, *computed);
      for (const bool aligned : {false, true}) {
        if (kernel->needs_alignment && !aligned) continue;
        traits.aligned = aligned;
        check_template(*gpu, *kernel, traits, computed->math, prepared);
      }
    }
  }
}

// Where shared memory is busiest, warps' last reads of a phase come late: without the order that
// gemm_tma keeps, the next phase overtook them in 1 to 3 of 100 launches at 3200.
void check_late_reads() {
  const std::optional<Gpu> gpu = open_gpu();
  if (!gpu || gpu->device.compute_major != 9) return;
  const gpu::PrimaryContext context(gpu->driver, 0);
  const gpu::ContextGuard guard(context);
  const gpu::Stream stream(*gpu->driver);
  const Oracle oracle(*gpu, stream);
  const KernelTemplate& kernel = *built_in_kernels().find("gemm_tma");
  const Configuration configuration = kernel.space.validated(Configuration::parse(
      "RESULTS_M=8,RESULTS_N=8,LANES_M=4,WARPS_M=2,WARPS_N=1,SLICE_K=2,BLOCK_K=16,UNROLL=8,"
      "STAGES=8,MIN_BLOCKS=3,SPLIT_K=1,CLUSTER=1,ORDER=3,REGISTER_LEVEL=3,RASTER=1"));
  const GemmProblem problem{.m = 2048, .n = 2048, .k = 2048};
  const PreparedCase prepared(oracle, {problem});
  CodeTraits traits = code_traits(kernel, problem);
  // Copies by TMA overtake in another way than those by threads.
  for (const bool aligned : {true, false}) {
    traits.aligned = aligned;
    const std::vector<std::string> images = compile_all(*gpu, kernel, {configuration}, traits);
    const gpu::Module module(*gpu->driver, images.front());
    const gpu::Kernel loaded = module.kernel(kernel.name);
    const LaunchGeometry geometry = kernel.geometry(configuration, problem);
    constexpr int kLaunches = 500;
    for (int launch = 0; launch < kLaunches; ++launch) {
      CAPTURE(aligned);
      CAPTURE(launch);
      REQUIRE(prepared.mismatches(loaded, kernel.signature(problem),
                                  aligned ? geometry : geometry.without_maps()) == 0);
    }
  }
}

TEST_SUITE("TemplatesOnDevice") {
  TEST_CASE("copies do not overtake the reads of what they overwrite") {
    if (sample_size() == 0) check_late_reads();
  }

  TEST_CASE("every configuration is exact with A and B as they are") {
    check_layout("NN");
  }
  TEST_CASE("every configuration is exact with B transposed") {
    check_layout("NT");
  }
  TEST_CASE("every configuration is exact with A transposed") {
    check_layout("TN");
  }
  TEST_CASE("every configuration is exact with both transposed") {
    check_layout("TT");
  }
}

}  // namespace
}  // namespace autotune
