// The kernels of batches, run on the CPU: exact on small integers for every product, and nothing
// written between the matrices.
#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "arithmetic_case.hpp"
#include "cuda_on_cpu.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace {

using autotune::GemmProblem;
using autotune::LaunchGeometry;
using autotune::Transpose;
using cuda_on_cpu::__syncthreads;
using cuda_on_cpu::blockIdx;
using cuda_on_cpu::gridDim;
using cuda_on_cpu::threadIdx;
using Instance = autotune::test::InstanceOf<autotune::test::BatchedKernelFunction>;

// clang-format off
#define INSTANCE tiled_nn
#define BATCHED 1
#define TILE_WIDTH 8
#define RESULTS_M 2
#define RESULTS_N 4
#define UNROLL 4
#define A_TRANSPOSED 0
#define PADDING 0
#define VECTOR_WIDTH 4
#define PREFETCH 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_tiled_instance.inc"

#define INSTANCE tiled_tt
#define BATCHED 1
#define TILE_WIDTH 8
#define RESULTS_M 2
#define RESULTS_N 4
#define UNROLL 4
#define A_TRANSPOSED 0
#define PADDING 0
#define VECTOR_WIDTH 4
#define PREFETCH 1
#define TRANSPOSE_A 1
#define TRANSPOSE_B 1
#include "gemm_tiled_instance.inc"

#define INSTANCE simt_nn
#define BATCHED 1
#define RESULTS_M 4
#define RESULTS_N 4
#define LANES_M 8
#define WARPS_M 1
#define WARPS_N 2
#define SLICE_K 1
#define BLOCK_K 8
#define SHARED_K_MAJOR 0
#define UNROLL 8
#define ORDER 0
#define STAGES 6
#define DOUBLE_BUFFER 1
#define MIN_BLOCKS 6
#define RASTER 8
#define STAGE_EPILOGUE 1
#define SPLIT_K 1
#define CLUSTER 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_simt_instance.inc"

#define INSTANCE simt_evenly_nt
#define BATCHED 1
#define RESULTS_M 4
#define RESULTS_N 4
#define LANES_M 8
#define WARPS_M 1
#define WARPS_N 2
#define SLICE_K 1
#define BLOCK_K 8
#define SHARED_K_MAJOR 0
#define UNROLL 8
#define ORDER 0
#define STAGES 6
#define DOUBLE_BUFFER 1
#define MIN_BLOCKS 6
#define RASTER 1
#define STAGE_EPILOGUE 0
#define SPLIT_K 0
#define CLUSTER 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 1
#include "gemm_simt_instance.inc"

#define INSTANCE simt_split_tn
#define BATCHED 1
#define RESULTS_M 4
#define RESULTS_N 4
#define LANES_M 8
#define WARPS_M 1
#define WARPS_N 2
#define SLICE_K 1
#define BLOCK_K 8
#define SHARED_K_MAJOR 0
#define UNROLL 8
#define ORDER 0
#define STAGES 6
#define DOUBLE_BUFFER 1
#define MIN_BLOCKS 6
#define RASTER 1
#define STAGE_EPILOGUE 0
#define SPLIT_K 3
#define CLUSTER 1
#define TRANSPOSE_A 1
#define TRANSPOSE_B 0
#include "gemm_simt_instance.inc"

#define INSTANCE skinny_nn
#define BATCHED 1
#define FEW_SIDE 0
#define FEW 4
#define LINES 2
#define LANES_K 1
#define WARPS 2
#define SLICE_K 1
#define UNROLL 8
#define SPLIT_K 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_skinny_instance.inc"

#define INSTANCE skinny_split_tt
#define BATCHED 1
#define FEW_SIDE 1
#define FEW 4
#define LINES 2
#define LANES_K 1
#define WARPS 2
#define SLICE_K 1
#define UNROLL 8
#define SPLIT_K 4
#define TRANSPOSE_A 1
#define TRANSPOSE_B 1
#include "gemm_skinny_instance.inc"

// clang-format on

struct NamedInstance {
  const char* kernel;
  const Instance& instance;
  bool shares;  // blocks may share tiles
};
const std::vector<NamedInstance> kInstances = {
    {"gemm_tiled", tiled_nn::instance, false},       {"gemm_tiled", tiled_tt::instance, false},
    {"gemm_simt", simt_nn::instance, false},         {"gemm_simt", simt_evenly_nt::instance, true},
    {"gemm_simt", simt_split_tn::instance, true},    {"gemm_skinny", skinny_nn::instance, false},
    {"gemm_skinny", skinny_split_tt::instance, true}};

constexpr float kPoison = 77;

// The matrices of one operand, `gap` elements apart in rows and from matrix to matrix.
struct Matrices {
  std::int64_t ld, stride;
  std::vector<float> memory;

  Matrices(std::int64_t rows, std::int64_t columns, std::int64_t matrices, std::int64_t gap)
      : ld(columns + gap), stride(rows * (columns + gap) + gap) {
    memory.assign(static_cast<std::size_t>(matrices * stride), kPoison);
  }
  float& at(std::int64_t matrix, std::int64_t row, std::int64_t column) {
    return memory[static_cast<std::size_t>(matrix * stride + row * ld + column)];
  }
};

Matrices integers(std::int64_t rows, std::int64_t columns, std::int64_t matrices, std::int64_t gap,
                  unsigned seed) {
  Matrices result(rows, columns, matrices, gap);
  std::mt19937 random(seed);
  for (float& value : result.memory) value = static_cast<float>(static_cast<int>(random() % 5) - 2);
  return result;
}

// Returns how many elements of C, or between its rows and matrices, are not as they should be.
// shared_a: all products have the same A.
int wrong_elements(const Instance& instance, const LaunchGeometry& geometry, const GemmProblem& p,
                   bool shared_a) {
  const bool plain_a = p.op_a == Transpose::none;
  const bool plain_b = p.op_b == Transpose::none;
  constexpr std::int64_t kGap = 3;
  Matrices a = integers(plain_a ? p.m : p.k, plain_a ? p.k : p.m, p.batch, kGap, 1);
  Matrices b = integers(plain_b ? p.k : p.n, plain_b ? p.n : p.k, p.batch, kGap, 2);
  Matrices c(p.m, p.n, p.batch, kGap);
  if (shared_a) a.stride = 0;
  std::vector<autotune::test::Vector4> scratch(
      static_cast<std::size_t>(geometry.workspace_bytes()) / 16);
  float* const workspace = scratch.empty() ? nullptr : scratch.front().at;
  for (int run = 0; run < 2; ++run) {  // the counters are left as they were found
    cuda_on_cpu::launch(geometry, [&] {
      instance.kernel(a.memory.data(), b.memory.data(), c.memory.data(), p.m, p.n, p.k, a.ld, b.ld,
                      c.ld, 1, 0, workspace, static_cast<unsigned>(geometry.raster), p.batch,
                      a.stride, b.stride, c.stride);
    });
  }
  Matrices expected(p.m, p.n, p.batch, kGap);
  for (std::int64_t product = 0; product < p.batch; ++product) {
    for (std::int64_t row = 0; row < p.m; ++row) {
      for (std::int64_t column = 0; column < p.n; ++column) {
        float sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          sum += (plain_a ? a.at(product, row, k) : a.at(product, k, row)) *
                 (plain_b ? b.at(product, k, column) : b.at(product, column, k));
        }
        expected.at(product, row, column) = sum;
      }
    }
  }
  int wrong = 0;
  for (std::size_t i = 0; i < c.memory.size(); ++i) wrong += c.memory[i] != expected.memory[i];
  return wrong;
}

GemmProblem problem_for(const Instance& instance, GemmProblem problem) {
  problem.op_a = instance.op_a;
  problem.op_b = instance.op_b;
  return problem;
}

TEST_SUITE("arithmetic of batches") {
  TEST_CASE("every product of a batch is right, and nothing between the matrices is touched") {
    const std::vector<GemmProblem> sizes = {{.m = 5, .n = 9, .k = 100, .batch = 3},
                                            {.m = 32, .n = 32, .k = 8, .batch = 2},
                                            {.m = 40, .n = 7, .k = 65, .batch = 5},
                                            {.m = 1, .n = 1, .k = 1, .batch = 9}};
    for (const auto& [name, instance, shares] : kInstances) {
      const autotune::KernelTemplate& kernel = *autotune::built_in_kernels().find(name);
      for (const GemmProblem& size : sizes) {
        const GemmProblem problem = problem_for(instance, size);
        const LaunchGeometry geometry =
            kernel.geometry(instance.configuration, problem).on_device(4);
        for (const bool shared_a : {false, true}) {
          CAPTURE(name);
          CAPTURE(to_string(instance.configuration));
          CAPTURE(to_string(problem));
          CAPTURE(shared_a);
          CHECK(wrong_elements(instance, geometry, problem, shared_a) == 0);
        }
        if (shares && problem.k >= 65) CHECK(geometry.workspace_bytes() > 0);
      }
    }
  }

  // As launches of more tiles than a grid has along x: 3 of 5 products in the first row of blocks.
  TEST_CASE("a grid of several rows of products computes each once") {
    for (const auto& [name, instance, shares] : kInstances) {
      if (shares) continue;
      const autotune::KernelTemplate& kernel = *autotune::built_in_kernels().find(name);
      GemmProblem problem = problem_for(instance, {.m = 20, .n = 40, .k = 9, .batch = 1});
      LaunchGeometry geometry = kernel.geometry(instance.configuration, problem);
      problem.batch = 5;
      geometry.grid = {3 * geometry.grid[0], 2, 1};
      CAPTURE(name);
      CHECK(wrong_elements(instance, geometry, problem, false) == 0);
    }
  }

  TEST_CASE("the grid of a batch is within what a launch can have") {
    constexpr std::int64_t kMost = 2147483647;
    for (const auto& [name, instance, shares] : kInstances) {
      const autotune::KernelTemplate& kernel = *autotune::built_in_kernels().find(name);
      const GemmProblem problem =
          problem_for(instance, {.m = 65, .n = 30, .k = 1000, .batch = kMost});
      const LaunchGeometry geometry = kernel.geometry(instance.configuration, problem);
      const std::int64_t each =
          kernel.geometry(instance.configuration, problem_for(instance, {.m = 65, .n = 30, .k = 1}))
              .blocks();
      CAPTURE(name);
      CHECK(geometry.grid[0] <= kMost);
      CHECK(geometry.grid[1] <= 65535);
      CHECK(geometry.grid[0] % each == 0);
      CHECK(geometry.grid[0] / each >= (kMost - 1) / geometry.grid[1] + 1);
      CHECK(geometry.workspace_bytes() == 0);
    }
  }
}

}  // namespace
