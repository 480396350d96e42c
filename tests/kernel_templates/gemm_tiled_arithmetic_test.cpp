// The kernel of gemm_tiled.cu itself, run on the CPU: bit for bit the chain of fused multiply-adds
// that it promises, at every kind of edge, layout and alignment, within its matrices.
#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "arithmetic_case.hpp"
#include "cuda_on_cpu.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace {

using autotune::GemmProblem;
using autotune::Transpose;
using cuda_on_cpu::__syncthreads;
using cuda_on_cpu::blockIdx;
using cuda_on_cpu::gridDim;
using cuda_on_cpu::threadIdx;

using Instance = autotune::test::KernelInstance;

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

TEST_SUITE("gemm_tiled arithmetic") {
  TEST_CASE("every instance is a configuration of the space") {
    const autotune::KernelTemplate& kernel = *autotune::built_in_kernels().find("gemm_tiled");
    for (const Instance* instance : kInstances) {
      CHECK_NOTHROW(static_cast<void>(kernel.space.validated(instance->configuration)));
    }
  }

  TEST_CASE("results are one chain of fused multiply-adds bit for bit") {
    const std::vector<autotune::test::ArithmeticCase> cases = {
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
    const autotune::KernelTemplate& kernel = *autotune::built_in_kernels().find("gemm_tiled");
    for (const Instance* instance : kInstances) {
      for (autotune::test::ArithmeticCase test : cases) {
        test.problem.op_a = instance->op_a;
        test.problem.op_b = instance->op_b;
        const auto chain = [&](std::int64_t, std::int64_t, const auto& add) {
          float sum = 0;
          for (std::int64_t k = 0; k < test.problem.k; ++k) sum = add(sum, k);
          return sum;
        };
        CAPTURE(to_string(instance->configuration));
        CAPTURE(to_string(test.problem));
        CHECK(wrong_elements(kernel, *instance, test, chain) == 0);
        CHECK(cuda_on_cpu::misaligned_accesses == 0);
      }
    }
  }

  // The library's products that only scale C are computed so.
  TEST_CASE("with K = 0 C is multiplied by beta, and neither A nor B is read") {
    const autotune::KernelTemplate& kernel = *autotune::built_in_kernels().find("gemm_tiled");
    constexpr std::int64_t kM = 33, kN = 17, kLd = 20;
    for (const Instance* instance : kInstances) {
      CAPTURE(to_string(instance->configuration));
      std::vector<float> c(kM * kLd, 3);
      cuda_on_cpu::launch(geometry_of(kernel, *instance, {kM, kN, 1}), [&] {
        instance->kernel(nullptr, nullptr, c.data(), kM, kN, 0, kLd, kLd, kLd, 0, -0.5F, nullptr,
                         1);
      });
      for (std::int64_t i = 0; i < kM * kLd; ++i) {
        CHECK(c[static_cast<std::size_t>(i)] == (i % kLd < kN ? -1.5F : 3.0F));
      }
    }
  }
}

}  // namespace
