// The kernel of gemm_mma.cu itself, run on the CPU with matrix instructions that compute what those
// of a GPU do: exact on small integers at every kind of edge, layout, type and alignment, with
// nothing written between rows.
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "cuda_on_cpu.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace {

using autotune::Configuration;
using autotune::ElementType;
using autotune::GemmProblem;
using autotune::KernelTemplate;
using autotune::Transpose;
using cuda_on_cpu::__syncthreads;
using cuda_on_cpu::blockIdx;
using cuda_on_cpu::gridDim;
using cuda_on_cpu::threadIdx;

// The arguments of a launch.
struct Arguments {
  const void *a, *b;
  void* c;
  long long m, n, k, lda, ldb, ldc;
  float alpha, beta;
  float* workspace;
  unsigned raster;
  long long batch, stride_a, stride_b, stride_c;
};

// A kernel's text as C++, for one configuration, layout and types.
struct Kind {
  Configuration configuration;
  bool transpose_a, transpose_b, aligned, batched;
  std::size_t c_bytes;  // of an element
  std::uint16_t (*operand)(float value);
  void (*put)(void* c, std::size_t index, float value);
  void (*call)(const Arguments& arguments);
  void (*prepare)(const Arguments& arguments);
};

// clang-format off
enum { kSplit = 1 };
#define INSTANCE mma_words_nn
#define BLOCK_M 64
#define BLOCK_N 64
#define WARPS 4
#define BLOCK_K 32
#define STAGES 4
#define MIN_BLOCKS 4
#define ALIGNED 0
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_mma_instance.inc"

#define INSTANCE mma_words_nt
#define ELEMENT_A __half
#define ELEMENT_B __half
#define ELEMENT_C float
#define BLOCK_M 128
#define BLOCK_N 64
#define WARPS 4
#define BLOCK_K 64
#define STAGES 3
#define MIN_BLOCKS 2
#define ALIGNED 0
#define TRANSPOSE_A 0
#define TRANSPOSE_B 1
#include "gemm_mma_instance.inc"

#define INSTANCE mma_words_tn
#define ELEMENT_C float
#define BLOCK_M 32
#define BLOCK_N 64
#define WARPS 4
#define BLOCK_K 64
#define STAGES 4
#define MIN_BLOCKS 4
#define ALIGNED 0
#define TRANSPOSE_A 1
#define TRANSPOSE_B 0
#include "gemm_mma_instance.inc"

#define INSTANCE mma_words_tt
#define ELEMENT_A __half
#define ELEMENT_B __half
#define ELEMENT_C __half
#define BLOCK_M 64
#define BLOCK_N 256
#define WARPS 8
#define BLOCK_K 32
#define STAGES 4
#define MIN_BLOCKS 1
#define ALIGNED 0
#define TRANSPOSE_A 1
#define TRANSPOSE_B 1
#include "gemm_mma_instance.inc"

#define INSTANCE mma_chunks_nn
#define BLOCK_M 64
#define BLOCK_N 32
#define WARPS 4
#define BLOCK_K 32
#define STAGES 6
#define MIN_BLOCKS 4
#define ALIGNED 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_mma_instance.inc"

#define INSTANCE mma_chunks_tt
#define ELEMENT_C float
#define BLOCK_M 128
#define BLOCK_N 128
#define WARPS 8
#define BLOCK_K 64
#define STAGES 3
#define MIN_BLOCKS 1
#define ALIGNED 1
#define TRANSPOSE_A 1
#define TRANSPOSE_B 1
#include "gemm_mma_instance.inc"

#define INSTANCE mma_repacked_nn
#define REPACK 1
#define BLOCK_M 64
#define BLOCK_N 64
#define WARPS 4
#define BLOCK_K 32
#define STAGES 4
#define MIN_BLOCKS 4
#define ALIGNED 0
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_mma_instance.inc"

namespace split { enum { kSplit = 4 };
#define INSTANCE mma_parts_tn
#define BLOCK_M 64
#define BLOCK_N 64
#define WARPS 4
#define BLOCK_K 32
#define STAGES 6
#define MIN_BLOCKS 4
#define ALIGNED 0
#define TRANSPOSE_A 1
#define TRANSPOSE_B 0
#include "gemm_mma_instance.inc"
}
namespace even { enum { kSplit = 0 };
#define INSTANCE mma_repacked_tt
#define REPACK 1
#define BATCHED 1
#define ELEMENT_A __half
#define ELEMENT_B __half
#define ELEMENT_C __half
#define BLOCK_M 64
#define BLOCK_N 128
#define WARPS 4
#define BLOCK_K 64
#define STAGES 3
#define MIN_BLOCKS 2
#define ALIGNED 0
#define TRANSPOSE_A 1
#define TRANSPOSE_B 1
#include "gemm_mma_instance.inc"

#define INSTANCE mma_turns_nt
#define BATCHED 1
#define BLOCK_M 32
#define BLOCK_N 64
#define WARPS 4
#define BLOCK_K 32
#define STAGES 4
#define MIN_BLOCKS 4
#define ALIGNED 0
#define TRANSPOSE_A 0
#define TRANSPOSE_B 1
#include "gemm_mma_instance.inc"
}
// clang-format on

const std::vector<Kind> kKinds = {mma_words_nn::kind,          mma_words_nt::kind,
                                  mma_words_tn::kind,          mma_words_tt::kind,
                                  mma_chunks_nn::kind,         mma_chunks_tt::kind,
                                  mma_repacked_nn::kind,       split::mma_parts_tn::kind,
                                  even::mma_repacked_tt::kind, even::mma_turns_nt::kind};

const KernelTemplate& gemm_mma() {
  return *autotune::built_in_kernels().find("gemm_mma");
}

struct Case {
  long long m, n, k;
  float alpha = 1, beta = 0;
  long long gap = 0;    // between rows, beyond what they need
  long long shift = 0;  // of the first element from an aligned address
  long long batch = 1;
};

// A matrix in memory of just the size that it needs.
struct Matrix {
  std::vector<float> values;
  long long rows, columns, ld, stride, shift;

  Matrix(long long of_rows, long long of_columns, const Case& test)
      : rows(of_rows),
        columns(of_columns),
        ld(of_columns + test.gap),
        stride(of_rows * ld + (test.batch > 1 ? test.gap : 0)),
        shift(test.shift) {
    values.resize(
        static_cast<std::size_t>(shift + (test.batch - 1) * stride + (rows - 1) * ld + columns));
  }
  [[nodiscard]] std::size_t index(long long product, long long row, long long column) const {
    return static_cast<std::size_t>(shift + product * stride + row * ld + column);
  }
};

// Returns how many elements of C, and of the gaps in it, are not what they should be.
int wrong_elements(const Kind& kind, const Case& test) {
  Matrix a(kind.transpose_a ? test.k : test.m, kind.transpose_a ? test.m : test.k, test);
  Matrix b(kind.transpose_b ? test.n : test.k, kind.transpose_b ? test.k : test.n, test);
  Matrix c(test.m, test.n, test);
  std::mt19937 random(7);
  std::uniform_int_distribution<int> integers(-3, 3);
  for (Matrix* matrix : {&a, &b, &c}) {
    for (float& value : matrix->values) value = static_cast<float>(integers(random));
  }
  const auto operand = [&kind](const Matrix& matrix) {
    std::vector<std::uint16_t> result;
    for (const float value : matrix.values) result.push_back(kind.operand(value));
    return result;
  };
  const std::vector<std::uint16_t> of_a = operand(a);
  const std::vector<std::uint16_t> of_b = operand(b);
  std::vector<unsigned char> before(c.values.size() * kind.c_bytes);
  for (std::size_t i = 0; i < c.values.size(); ++i) {
    kind.put(before.data(), i, test.beta == 0 ? NAN : c.values[i]);
  }
  std::vector<unsigned char> expected = before;
  for (long long product = 0; product < test.batch; ++product) {
    for (long long row = 0; row < test.m; ++row) {
      for (long long column = 0; column < test.n; ++column) {
        float sum = 0;
        for (long long k = 0; k < test.k; ++k) {
          sum += a.values[kind.transpose_a ? a.index(product, k, row) : a.index(product, row, k)] *
                 b.values[kind.transpose_b ? b.index(product, column, k)
                                           : b.index(product, k, column)];
        }
        const std::size_t at = c.index(product, row, column);
        const float added = test.beta == 0 ? 0 : test.beta * c.values[at];
        kind.put(expected.data(), at, test.alpha * sum + added);
      }
    }
  }

  GemmProblem problem{.m = test.m, .n = test.n, .k = test.k, .batch = test.batch};
  problem.op_a = kind.transpose_a ? Transpose::transposed : Transpose::none;
  problem.op_b = kind.transpose_b ? Transpose::transposed : Transpose::none;
  problem.types = {ElementType::bf16, ElementType::bf16, ElementType::bf16, ElementType::f32};
  const auto geometry = gemm_mma().geometry(kind.configuration, problem).on_device(1);
  struct alignas(16) Four {
    float at[4] = {};
  };
  std::vector<Four> scratch(static_cast<std::size_t>(geometry.workspace_bytes()) / 16);
  std::vector<unsigned char> after;
  // A second launch finds the workspace as the first left it.
  for (int run = 0; run < 2; ++run) {
    after = before;
    const Arguments arguments = {of_a.data() + a.shift,
                                 of_b.data() + b.shift,
                                 after.data() + static_cast<std::size_t>(c.shift) * kind.c_bytes,
                                 test.m,
                                 test.n,
                                 test.k,
                                 a.ld,
                                 b.ld,
                                 c.ld,
                                 test.alpha,
                                 test.beta,
                                 scratch.empty() ? nullptr : scratch.front().at,
                                 static_cast<unsigned>(geometry.raster),
                                 test.batch,
                                 a.stride,
                                 b.stride,
                                 c.stride};
    if (geometry.preparation.blocks > 0) {
      autotune::LaunchGeometry first;
      first.grid[0] = geometry.preparation.blocks;
      first.block[0] = geometry.preparation.threads;
      cuda_on_cpu::launch(first, [&] { kind.prepare(arguments); });
    }
    cuda_on_cpu::launch(geometry, [&] { kind.call(arguments); });
  }
  int wrong = 0;
  for (std::size_t i = 0; i < c.values.size(); ++i) {
    const std::size_t at = i * kind.c_bytes;
    wrong += std::memcmp(after.data() + at, expected.data() + at, kind.c_bytes) != 0;
  }
  return wrong;
}

bool is_aligned(const Case& test) {
  return (test.m | test.n | test.k | test.gap | test.shift) % 8 == 0;
}

const std::vector<Case> kCases = {
    {.m = 1, .n = 1, .k = 1},
    {.m = 64, .n = 64, .k = 64},                                           // whole tiles
    {.m = 72, .n = 136, .k = 40, .alpha = -1.5F, .beta = 0.5F, .gap = 8},  // several tiles
    {.m = 33, .n = 17, .k = 19},                                           // edges everywhere
    {.m = 33, .n = 70, .k = 133, .alpha = 2, .beta = -1, .gap = 2, .shift = 1},
    {.m = 36, .n = 70, .k = 66, .gap = 2, .shift = 1},  // all lines begin within a word
    {.m = 36, .n = 70, .k = 66, .gap = 2},              // none does
    {.m = 65, .n = 129, .k = 98, .gap = 1, .shift = 3},
    {.m = 64, .n = 57, .k = 72, .gap = 7, .shift = 8},
    {.m = 5, .n = 6, .k = 333},    // many k_tiles
    {.m = 1, .n = 300, .k = 40},   // one row
    {.m = 270, .n = 140, .k = 57}  // more tiles than blocks
};

TEST_SUITE("gemm_mma arithmetic") {
  TEST_CASE("every instance is a configuration of the space") {
    for (const Kind& kind : kKinds) {
      CHECK_NOTHROW(static_cast<void>(gemm_mma().space.validated(kind.configuration)));
    }
  }

  TEST_CASE("results are exact on small integers") {
    for (const Kind& kind : kKinds) {
      for (Case test : kCases) {
        if (kind.aligned && !is_aligned(test)) continue;
        if (kind.batched) test.batch = 3;
        CAPTURE(to_string(kind.configuration));
        CAPTURE(test.m);
        CAPTURE(test.n);
        CAPTURE(test.k);
        CAPTURE(test.gap);
        CHECK(wrong_elements(kind, test) == 0);
        CHECK(cuda_on_cpu::misaligned_accesses == 0);
      }
    }
  }
}

}  // namespace
