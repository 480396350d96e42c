// The kernel of gemm_tiled.cu itself, run on the CPU: bit for bit the chain of fused multiply-adds
// that it promises, at every kind of edge, layout and alignment, within its matrices.
#include <cstring>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "cuda_on_cpu.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace {

using autotune::GemmProblem;
using autotune::Operation;
using cuda_on_cpu::__syncthreads;
using cuda_on_cpu::blockIdx;
using cuda_on_cpu::threadIdx;

using Kernel = void(const float*, const float*, float*, long long, long long, long long, long long,
                    long long, long long, float, float);

struct Instance {
  autotune::Configuration configuration;
  Operation op_a;
  Operation op_b;
  Kernel* kernel;
};

// clang-format off
#define INSTANCE single_result_nn
#define TILE_WIDTH 8
#define RESULTS_M 1
#define RESULTS_N 1
#define UNROLL 1
#define A_TRANSPOSED 0
#define PADDING 0
#define VECTOR_WIDTH 1
#define PREFETCH 0
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_tiled_instance.inc"

#define INSTANCE wide_loads_nn
#define TILE_WIDTH 8
#define RESULTS_M 4
#define RESULTS_N 2
#define UNROLL 2
#define A_TRANSPOSED 1
#define PADDING 1
#define VECTOR_WIDTH 4
#define PREFETCH 0
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_tiled_instance.inc"

#define INSTANCE prefetch_nn
#define TILE_WIDTH 8
#define RESULTS_M 2
#define RESULTS_N 8
#define UNROLL 8
#define A_TRANSPOSED 0
#define PADDING 0
#define VECTOR_WIDTH 4
#define PREFETCH 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_tiled_instance.inc"

#define INSTANCE mixed_widths_nt
#define TILE_WIDTH 8
#define RESULTS_M 2
#define RESULTS_N 4
#define UNROLL 4
#define A_TRANSPOSED 0
#define PADDING 0
#define VECTOR_WIDTH 4
#define PREFETCH 0
#define TRANSPOSE_A 0
#define TRANSPOSE_B 1
#include "gemm_tiled_instance.inc"

#define INSTANCE transposed_tile_tn
#define TILE_WIDTH 8
#define RESULTS_M 4
#define RESULTS_N 1
#define UNROLL 8
#define A_TRANSPOSED 1
#define PADDING 0
#define VECTOR_WIDTH 1
#define PREFETCH 1
#define TRANSPOSE_A 1
#define TRANSPOSE_B 0
#include "gemm_tiled_instance.inc"

#define INSTANCE rows_tile_tn
#define TILE_WIDTH 8
#define RESULTS_M 4
#define RESULTS_N 4
#define UNROLL 8
#define A_TRANSPOSED 0
#define PADDING 0
#define VECTOR_WIDTH 4
#define PREFETCH 0
#define TRANSPOSE_A 1
#define TRANSPOSE_B 0
#include "gemm_tiled_instance.inc"

#define INSTANCE pairs_tt
#define TILE_WIDTH 8
#define RESULTS_M 2
#define RESULTS_N 2
#define UNROLL 8
#define A_TRANSPOSED 1
#define PADDING 1
#define VECTOR_WIDTH 2
#define PREFETCH 1
#define TRANSPOSE_A 1
#define TRANSPOSE_B 1
#include "gemm_tiled_instance.inc"

#define INSTANCE large_block_nn
#define TILE_WIDTH 16
#define RESULTS_M 1
#define RESULTS_N 2
#define UNROLL 16
#define A_TRANSPOSED 0
#define PADDING 0
#define VECTOR_WIDTH 2
#define PREFETCH 0
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_tiled_instance.inc"

// clang-format on

const std::vector<const Instance*> kInstances = {
    &single_result_nn::instance, &wide_loads_nn::instance,      &prefetch_nn::instance,
    &mixed_widths_nt::instance,  &transposed_tile_tn::instance, &rows_tile_tn::instance,
    &pairs_tt::instance,         &large_block_nn::instance};

// A matrix in memory of just the size it needs, so that a stray access leaves it.
struct Matrix {
  std::vector<float> memory;
  std::int64_t ld;
  std::int64_t offset;  // elements in front, to spoil the alignment

  Matrix(std::int64_t rows, std::int64_t columns, std::int64_t gap, std::int64_t shift)
      : memory(static_cast<std::size_t>(shift + (rows - 1) * (columns + gap) + columns)),
        ld(columns + gap),
        offset(shift) {}

  float* data() { return memory.data() + offset; }
  float& at(std::int64_t row, std::int64_t column) { return data()[row * ld + column]; }
};

// Values whose products round, vanish below the smallest number (leaving a -0) or are zeros.
void fill(Matrix& matrix, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : matrix.memory) {
    value = uniform(random);
    if (value > 0.8F) value = std::copysign(1e-30F, uniform(random));
    if (value < -0.8F) value = std::copysign(0.0F, uniform(random));
  }
}

struct Case {
  GemmProblem problem;
  float alpha, beta;
  std::int64_t gap;    // between rows, beyond what they need
  std::int64_t shift;  // of the first element from an aligned address
};

std::uint32_t bits(float value) {
  std::uint32_t result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

// Elements of C that differ from the promised ones in any bit, and gaps that were written.
int wrong_elements(const Instance& instance, const Case& test) {
  const auto [m, n, k, op_a, op_b, math] = test.problem;
  const bool plain_a = op_a == Operation::plain;
  const bool plain_b = op_b == Operation::plain;
  Matrix a(plain_a ? m : k, plain_a ? k : m, test.gap, test.shift);
  Matrix b(plain_b ? k : n, plain_b ? n : k, test.gap, test.shift);
  Matrix c(m, n, test.gap, test.shift);
  std::mt19937 random(7);
  fill(a, random);
  fill(b, random);
  fill(c, random);
  if (test.beta == 0) {
    for (float& value : c.memory) value = std::numeric_limits<float>::quiet_NaN();
  }
  Matrix expected = c;
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      float sum = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        sum = std::fmaf(plain_a ? a.at(row, i) : a.at(i, row),
                        plain_b ? b.at(i, column) : b.at(column, i), sum);
      }
      float& result = expected.at(row, column);
      result = test.beta == 0 ? test.alpha * sum : std::fmaf(test.beta, result, test.alpha * sum);
    }
  }
  const autotune::KernelTemplate& kernel = *autotune::find_kernel_template("gemm_tiled");
  cuda_on_cpu::launch(kernel.geometry(instance.configuration, test.problem), [&] {
    instance.kernel(a.data(), b.data(), c.data(), m, n, k, a.ld, b.ld, c.ld, test.alpha, test.beta);
  });
  int wrong = 0;
  for (std::size_t i = 0; i < c.memory.size(); ++i) {
    if (bits(c.memory[i]) != bits(expected.memory[i])) ++wrong;
  }
  return wrong;
}

TEST_SUITE("gemm_tiled arithmetic") {
  TEST_CASE("every instance is a configuration of the space") {
    const autotune::KernelTemplate& kernel = *autotune::find_kernel_template("gemm_tiled");
    for (const Instance* instance : kInstances) {
      CHECK_NOTHROW(static_cast<void>(kernel.space.validated(instance->configuration)));
    }
  }

  TEST_CASE("results are one chain of fused multiply-adds bit for bit") {
    const std::vector<Case> cases = {
        {{1, 1, 1}, 1, 0, 0, 0},            // one element
        {{32, 64, 16}, 1, 0, 0, 0},         // whole tiles only
        {{64, 64, 24}, -1.5F, 0.5F, 4, 0},  // several tiles, leading dimensions still aligned
        {{33, 17, 19}, 1, 0, 0, 0},         // edges everywhere
        {{20, 40, 9}, 2, -1, 3, 1},         // odd leading dimensions and addresses
        {{32, 32, 16}, 1, 1, 0, 1},         // whole tiles at odd addresses
        {{40, 40, 1}, 1, 0, 0, 0},          // some results are -0
        {{1, 70, 40}, 1, 0, 0, 0},          // one row
        {{70, 1, 7}, 0, 1, 0, 0},           // one column, fewer elements of K than a phase
    };
    for (const Instance* instance : kInstances) {
      for (Case test : cases) {
        test.problem.op_a = instance->op_a;
        test.problem.op_b = instance->op_b;
        CAPTURE(to_string(instance->configuration));
        CAPTURE(to_string(test.problem));
        CHECK(wrong_elements(*instance, test) == 0);
        CHECK(cuda_on_cpu::misaligned_accesses == 0);
      }
    }
  }
}

}  // namespace
