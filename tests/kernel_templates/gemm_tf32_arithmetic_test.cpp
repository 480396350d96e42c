// The kernel of gemm_tf32.cu itself, run on the CPU with matrix instructions that compute what
// those of a GPU do: within its bounds at every kind of edge, layout and alignment, and infinities,
// NaN and tiny values as in FP32.
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "arithmetic_case.hpp"
#include "cuda_on_cpu.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace {

using autotune::GemmProblem;
using autotune::KernelTemplate;
using autotune::Math;
using autotune::Transpose;
using autotune::test::ArithmeticCase;
using autotune::test::Matrix;
using cuda_on_cpu::__syncthreads;
using cuda_on_cpu::blockIdx;
using cuda_on_cpu::gridDim;
using cuda_on_cpu::threadIdx;
using Instance = autotune::test::KernelInstance;

// clang-format off
enum { kSplit = 1 };
#define INSTANCE square_nn
#define WARP_M 32
#define WARP_N 32
#define WARPS_M 2
#define WARPS_N 2
#define BLOCK_K 32
#define UNROLL 16
#define STAGES 3
#define MIN_BLOCKS 2
#define ALIGNED 0
#define MATH_TF32 0
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_tf32_instance.inc"

#define INSTANCE tall_tt
#define WARP_M 64
#define WARP_N 32
#define WARPS_M 2
#define WARPS_N 2
#define BLOCK_K 16
#define UNROLL 8
#define STAGES 4
#define MIN_BLOCKS 1
#define ALIGNED 0
#define MATH_TF32 0
#define TRANSPOSE_A 1
#define TRANSPOSE_B 1
#include "gemm_tf32_instance.inc"

#define INSTANCE rounded_nt
#define WARP_M 32
#define WARP_N 64
#define WARPS_M 4
#define WARPS_N 1
#define BLOCK_K 32
#define UNROLL 8
#define STAGES 2
#define MIN_BLOCKS 1
#define ALIGNED 0
#define MATH_TF32 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 1
#include "gemm_tf32_instance.inc"

#define INSTANCE aligned_tn
#define WARP_M 32
#define WARP_N 32
#define WARPS_M 2
#define WARPS_N 2
#define BLOCK_K 16
#define UNROLL 8
#define STAGES 2
#define MIN_BLOCKS 3
#define ALIGNED 1
#define MATH_TF32 0
#define TRANSPOSE_A 1
#define TRANSPOSE_B 0
#include "gemm_tf32_instance.inc"

namespace split { enum { kSplit = 3 };
#define INSTANCE parts_nn
#define WARP_M 16
#define WARP_N 32
#define WARPS_M 2
#define WARPS_N 2
#define BLOCK_K 16
#define UNROLL 8
#define STAGES 3
#define MIN_BLOCKS 2
#define ALIGNED 0
#define MATH_TF32 0
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_tf32_instance.inc"
}
namespace even { enum { kSplit = 0 };
#define INSTANCE turns_nt
#define WARP_M 64
#define WARP_N 32
#define WARPS_M 1
#define WARPS_N 4
#define BLOCK_K 16
#define UNROLL 8
#define STAGES 2
#define MIN_BLOCKS 1
#define ALIGNED 0
#define MATH_TF32 0
#define TRANSPOSE_A 0
#define TRANSPOSE_B 1
#include "gemm_tf32_instance.inc"
}
// clang-format on

struct Kind {
  const Instance* instance;
  bool aligned;
  Math math;
};
const std::vector<Kind> kKinds = {{&square_nn::instance, false, Math::emulated},
                                  {&tall_tt::instance, false, Math::emulated},
                                  {&rounded_nt::instance, false, Math::tf32},
                                  {&aligned_tn::instance, true, Math::emulated},
                                  {&split::parts_nn::instance, false, Math::emulated},
                                  {&even::turns_nt::instance, false, Math::emulated}};

const KernelTemplate& gemm_tf32() {
  return *autotune::built_in_kernels().find("gemm_tf32");
}

// The operands and C of one case.
struct Case {
  ArithmeticCase test;
  Matrix a, b, c;

  Case(const ArithmeticCase& of, const Instance& instance)
      : test(of),
        a(plain_a(instance) ? of.problem.m : of.problem.k,
          plain_a(instance) ? of.problem.k : of.problem.m, of.gap, of.shift),
        b(plain_b(instance) ? of.problem.k : of.problem.n,
          plain_b(instance) ? of.problem.n : of.problem.k, of.gap, of.shift),
        c(of.problem.m, of.problem.n, of.gap, of.shift) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (Matrix* matrix : {&a, &b, &c}) {
      for (float& value : matrix->memory) value = uniform(random);
    }
    test.problem.op_a = instance.op_a;
    test.problem.op_b = instance.op_b;
  }

  static bool plain_a(const Instance& instance) { return instance.op_a == Transpose::none; }
  static bool plain_b(const Instance& instance) { return instance.op_b == Transpose::none; }
  float& of_a(std::int64_t row, std::int64_t k) {
    return test.problem.op_a == Transpose::none ? a.at(row, k) : a.at(k, row);
  }
  float& of_b(std::int64_t k, std::int64_t column) {
    return test.problem.op_b == Transpose::none ? b.at(k, column) : b.at(column, k);
  }

  // C after two launches, of which the second finds the workspace as the first left it.
  Matrix result(const Instance& instance) {
    const auto geometry = autotune::test::geometry_of(gemm_tf32(), instance, test.problem);
    std::vector<autotune::test::Vector4> scratch(
        static_cast<std::size_t>(geometry.workspace_bytes()) / 16);
    float* const words = scratch.empty() ? nullptr : scratch.front().at;
    Matrix after = c;
    for (int run = 0; run < 2; ++run) {
      after = c;
      cuda_on_cpu::launch(geometry, [&] {
        instance.kernel(a.data(), b.data(), after.data(), test.problem.m, test.problem.n,
                        test.problem.k, a.ld, b.ld, after.ld, test.alpha, test.beta, words,
                        static_cast<unsigned>(geometry.raster));
      });
    }
    return after;
  }
};

// The greatest |error| / (2^-24 (|alpha| |A||B| + |beta| |C|)), and whether gaps were left alone.
double greatest_error(Case& one, const Instance& instance) {
  Matrix after = one.result(instance);
  const auto& [problem, alpha, beta, gap, shift] = one.test;
  double greatest = 0;
  std::vector<bool> is_result(after.memory.size());
  for (std::int64_t row = 0; row < problem.m; ++row) {
    for (std::int64_t column = 0; column < problem.n; ++column) {
      double sum = 0;
      double size = 0;
      for (std::int64_t k = 0; k < problem.k; ++k) {
        const double product = double{one.of_a(row, k)} * double{one.of_b(k, column)};
        sum += product;
        size += std::abs(product);
      }
      const double before = one.c.at(row, column);
      const double error = after.at(row, column) - (alpha * sum + beta * before);
      const double unit = 0x1p-24 * (std::abs(alpha) * size + std::abs(beta * before));
      if (unit > 0) greatest = std::max(greatest, std::abs(error) / unit);
      is_result[static_cast<std::size_t>(&after.at(row, column) - after.memory.data())] = true;
    }
  }
  for (std::size_t i = 0; i < is_result.size(); ++i) {
    if (!is_result[i] && after.memory[i] != one.c.memory[i]) return INFINITY;
  }
  return greatest;
}

// The result of one chain of multiply-adds.
float chain(Case& one, std::int64_t row, std::int64_t column) {
  float sum = 0;
  for (std::int64_t k = 0; k < one.test.problem.k; ++k) {
    sum = std::fmaf(one.of_a(row, k), one.of_b(k, column), sum);
  }
  return sum;
}

// How many results of a row are not those of a chain.
int other_than_chain(Case& one, Matrix& after, std::int64_t row) {
  int others = 0;
  for (std::int64_t column = 0; column < one.test.problem.n; ++column) {
    others += after.at(row, column) != chain(one, row, column);
  }
  return others;
}

// The relative Frobenius error of a chain, and that of the kernel.
std::pair<double, double> frobenius_errors(Case& one, const Instance& instance) {
  Matrix after = one.result(instance);
  const GemmProblem& problem = one.test.problem;
  double size = 0;
  double of_chain = 0;
  double of_kernel = 0;
  for (std::int64_t row = 0; row < problem.m; ++row) {
    for (std::int64_t column = 0; column < problem.n; ++column) {
      double sum = 0;
      for (std::int64_t k = 0; k < problem.k; ++k) {
        sum += double{one.of_a(row, k)} * double{one.of_b(k, column)};
      }
      size += sum * sum;
      of_chain += std::pow(chain(one, row, column) - sum, 2);
      of_kernel += std::pow(after.at(row, column) - sum, 2);
    }
  }
  return {std::sqrt(of_chain / size), std::sqrt(of_kernel / size)};
}

const std::vector<ArithmeticCase> kCases = {
    {{1, 1, 1}, 1, 0, 0, 0},             // one element
    {{64, 64, 64}, 1, 0, 0, 0},          // whole tiles
    {{72, 132, 40}, -1.5F, 0.5F, 4, 0},  // several tiles, leading dimensions still aligned
    {{33, 17, 19}, 1, 0, 0, 0},          // edges everywhere
    {{20, 40, 9}, 2, -1, 3, 1},          // odd leading dimensions and addresses
    {{5, 6, 333}, 1, 0, 0, 0},           // many k_tiles
    {{1, 300, 40}, 1, 0, 0, 0},          // one row
    {{270, 140, 52}, 1, 0, 0, 0}};       // more tiles than blocks

bool is_aligned(const ArithmeticCase& test) {
  const auto& p = test.problem;
  return p.m % 4 == 0 && p.n % 4 == 0 && p.k % 4 == 0 && test.gap % 4 == 0 && test.shift % 4 == 0;
}

TEST_SUITE("gemm_tf32 arithmetic") {
  TEST_CASE("every instance is a configuration of the space") {
    for (const Kind& kind : kKinds) {
      CHECK_NOTHROW(static_cast<void>(gemm_tf32().space.validated(kind.instance->configuration)));
    }
  }

  TEST_CASE("errors are those of FP32, or of operands that are rounded to TF32") {
    for (const Kind& kind : kKinds) {
      for (const ArithmeticCase& test : kCases) {
        if (kind.aligned && !is_aligned(test)) continue;
        Case one(test, *kind.instance);
        CAPTURE(to_string(kind.instance->configuration));
        CAPTURE(to_string(one.test.problem));
        const double error = greatest_error(one, *kind.instance);
        if (kind.math == Math::emulated) {
          CHECK(error < 14);
        } else {
          CHECK(error < 0x1p14);
          if (test.problem.k > 1) CHECK(error > 100);
        }
        CHECK(cuda_on_cpu::misaligned_accesses == 0);
      }
    }
  }

  TEST_CASE("results of infinities, NaN and tiny values are those of FP32") {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float values[] = {kInfinity,      -kInfinity, std::nanf(""),
                            -std::nanf(""), 0x1p-140F,  std::numeric_limits<float>::max()};
    for (const Kind& kind : kKinds) {
      if (kind.math != Math::emulated) continue;
      for (const float value : values) {
        Case one({{36, 40, 48}, 1, 0, 0, 0}, *kind.instance);
        one.of_a(5, 7) = value;
        one.of_b(30, 12) = value;
        one.of_b(7, 3) = 0;
        CAPTURE(to_string(kind.instance->configuration));
        CAPTURE(value);
        Matrix after = one.result(*kind.instance);
        for (const auto& [row, column] : {std::pair{5, 3}, {5, 20}, {0, 12}, {5, 12}, {0, 0}}) {
          CAPTURE(row);
          CAPTURE(column);
          float chain = 0;
          for (int k = 0; k < 48; ++k) {
            chain = std::fmaf(one.of_a(row, k), one.of_b(k, column), chain);
          }
          const float result = after.at(row, column);
          CHECK(std::isnan(result) == std::isnan(chain));
          if (std::isinf(chain)) CHECK(result == chain);
          if (std::isfinite(chain)) CHECK(result == doctest::Approx(chain).epsilon(1e-6));
        }
      }
    }
  }

  TEST_CASE("results that are nearly one product are those of FP32, and no others") {
    const GemmProblem problem{36, 40, 272};
    const auto k = static_cast<int>(problem.k);
    for (const Kind& kind : kKinds) {
      if (kind.math != Math::emulated) continue;
      CAPTURE(to_string(kind.instance->configuration));
      Case one({problem, 1, 0, 0, 0}, *kind.instance);
      one.of_a(3, 100) = 1e6F;
      one.of_a(4, 100) = 1e9F;
      one.of_a(5, k - 1) = 1e9F;
      for (int i = 0; i < k; ++i) {
        if (i > 1) one.of_a(6, i) = 0;
        if (i != 70) one.of_a(7, i) = 0;
        if (i % 2 == 0) one.of_a(8, i) = 0;
        one.of_a(9, i) = 0;
      }
      one.of_b(200, 12) = 1e9F;
      Matrix after = one.result(*kind.instance);
      CHECK(other_than_chain(one, after, 4) == 0);
      CHECK(other_than_chain(one, after, 5) == 0);
      CHECK(other_than_chain(one, after, 6) == 0);
      CHECK(other_than_chain(one, after, 7) == 0);
      CHECK(other_than_chain(one, after, 9) == 0);
      for (const int row : {2, 3, 8}) {
        CHECK(other_than_chain(one, after, row) > 20);
        CHECK(after.at(row, 12) == chain(one, row, 12));
      }
    }
  }

  TEST_CASE("errors of data of a huge range are not above those of FP32") {
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    for (const Kind& kind : kKinds) {
      if (kind.math != Math::emulated) continue;
      CAPTURE(to_string(kind.instance->configuration));
      for (const int k : {128, 512}) {
        CAPTURE(k);
        Case outliers({{36, 40, k}, 1, 0, 0, 0}, *kind.instance);
        Case lognormal = outliers;
        for (int row = 0; row < 36; ++row) {
          float& outlier = outliers.of_a(row, k / 3);
          outlier = 1e9F * (1 + outlier / 8);
        }
        for (Matrix* matrix : {&lognormal.a, &lognormal.b}) {
          for (float& value : matrix->memory) value *= std::exp(4 * normal(random));
        }
        for (Case* one : {&outliers, &lognormal}) {
          const auto [of_chain, of_kernel] = frobenius_errors(*one, *kind.instance);
          CHECK(of_kernel <= 1.1 * of_chain);
        }
      }
    }
  }

  TEST_CASE("rows of subnormals keep their bits") {
    for (const Kind& kind : kKinds) {
      if (kind.math != Math::emulated) continue;
      Case one({{36, 40, 48}, 1, 0, 0, 0}, *kind.instance);
      for (std::int64_t k = 0; k < 48; ++k) one.of_a(9, k) *= 0x1p-128F;
      Matrix after = one.result(*kind.instance);
      double sum = 0;
      for (std::int64_t k = 0; k < 48; ++k) sum += double{one.of_a(9, k)} * double{one.of_b(k, 8)};
      CHECK(std::abs(after.at(9, 8) - sum) <= 48 * 0x1p-150);
    }
  }
}

}  // namespace
