// gemm() for batches, on a real GPU.
#include <cstdio>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "tests/api/temporary_storage.hpp"
#include "tests/device_runtime/device_numbers.hpp"

namespace autotune::test {
namespace {

// The matrices of one operand: packed, or with elements between them, or one for all products.
struct Layout {
  const char* name;
  std::int64_t gap;
  bool shared_a, shared_b;
};

void check_batch(Library& library, const GemmProblem& problem, const Layout& layout) {
  GemmProblem alone = problem;
  alone.batch = 1;
  const std::int64_t a_each = problem.m * problem.k + layout.gap;
  const std::int64_t b_each = problem.k * problem.n + layout.gap;
  const std::int64_t c_each = problem.m * problem.n + layout.gap;
  Numbers a(problem.batch * a_each, 0, 1);
  Numbers b(problem.batch * b_each, 0, 2);
  Numbers c(problem.batch * c_each, 0, 3);
  for (Numbers* each : {&a, &b, &c}) make_whole(*each);
  const std::int64_t stride_a = layout.shared_a ? 0 : a_each;
  const std::int64_t stride_b = layout.shared_b ? 0 : b_each;
  for (const auto& [alpha, beta] : {std::pair{1.F, 0.F}, {2.F, -1.F}, {0.F, 3.F}, {0.F, 0.F}}) {
    CAPTURE(alpha);
    CAPTURE(beta);
    c.reset();
    for (std::int64_t i = 0; i < problem.batch; ++i) {
      library.gemm(alone, alpha, {a.begin + i * stride_a}, {b.begin + i * stride_b}, beta,
                   {c.begin + i * c_each});
    }
    const std::vector<float> expected = c.values();
    c.reset();
    library.gemm(problem, alpha, {a.begin, 0, stride_a}, {b.begin, 0, stride_b}, beta,
                 {c.begin, 0, c_each});
    CHECK(c.values() == expected);
  }
}

TEST_SUITE("batches in an application") {
  TEST_CASE("each product of a batch is what it is alone") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    Library library;
    GemmProblem transposed{.m = 132, .n = 260, .k = 516, .batch = 3};
    set_layout(transposed, "TN");
    const GemmProblem problems[] = {{.m = 128, .n = 128, .k = 128, .batch = 64},
                                    {.m = 512, .n = 512, .k = 256, .batch = 5},
                                    transposed,
                                    {.m = 31, .n = 37, .k = 41, .batch = 100},
                                    {.m = 1, .n = 1000, .k = 500, .batch = 7}};
    const Layout layouts[] = {{"packed", 0, false, false},
                              {"apart", 8, false, false},
                              {"odd", 3, false, false},
                              {"one A", 4, true, false},
                              {"one B", 0, false, true}};
    for (const GemmProblem& problem : problems) {
      for (const Layout& layout : layouts) {
        CAPTURE(to_string(problem));
        CAPTURE(layout.name);
        check_batch(library, problem, layout);
      }
    }
  }

  TEST_CASE("a tuned batch is right") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    Library library;
    const GemmProblem problem{.m = 96, .n = 96, .k = 64, .batch = 40};
    const TuningResult tuned = library.tune({problem}, {.budget_trials = 40});
    REQUIRE(tuned.problems.front().winner);
    CHECK(library.query(problem).match == MatchKind::exact);
    check_batch(library, problem, {"packed", 0, false, false});
    check_batch(library, problem, {"one A", 4, true, false});
  }

  // 39 GB: with tiles of 8 rows, launches of more than 2^31 blocks.
  TEST_CASE("a batch of a thousand million products") {
    if (!gpu_is_here()) return;
    constexpr std::int64_t kBatch = (std::int64_t{1} << 30) + 5;
    constexpr std::int64_t kM = 9;
    std::size_t free = 0;
    std::size_t total = 0;
    succeeds(cudaMemGetInfo(&free, &total));
    if (free < std::size_t{60} << 30) {
      std::printf("SKIPPED: the GPU has too little free memory\n");
      return;
    }
    const TemporaryStorage storage;
    Library library;
    const DeviceMemory c(std::size_t{4} * kM * kBatch);
    Numbers a(kM, 0, 1);
    Numbers b(1, 0, 2);
    make_whole(a);
    b.host = {2};
    b.reset();
    library.gemm({.m = kM, .n = 1, .k = 1, .batch = kBatch}, 1, {a.begin}, {b.begin}, 0,
                 {static_cast<float*>(c.data), 0, kM});
    succeeds(cudaDeviceSynchronize());
    for (const std::int64_t product :
         {std::int64_t{0}, kBatch / 2 - 1, kBatch / 2, kBatch / 2 + 3, kBatch - 1}) {
      std::vector<float> result(kM);
      succeeds(cudaMemcpy(result.data(), static_cast<float*>(c.data) + product * kM,
                          kM * sizeof(float), cudaMemcpyDeviceToHost));
      CAPTURE(product);
      for (std::size_t i = 0; i < result.size(); ++i) CHECK(result[i] == 2 * a.host[i]);
    }
  }
}

}  // namespace
}  // namespace autotune::test
