// The kernel of gemm_skinny.cu itself, run on the CPU: bit for bit the sums that it promises, for
// few rows and few columns, at every kind of edge, layout and alignment, within its matrices.
#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "arithmetic_case.hpp"
#include "cuda_on_cpu.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace {

using autotune::Configuration;
using autotune::ElementType;
using autotune::GemmProblem;
using autotune::Transpose;
using autotune::test::ArithmeticCase;
using cuda_on_cpu::__syncthreads;
using cuda_on_cpu::blockIdx;
using cuda_on_cpu::gridDim;
using cuda_on_cpu::threadIdx;
using Instance = autotune::test::KernelInstance;

// clang-format off
#define INSTANCE row_nn
#define FEW_SIDE 0
#define FEW 1
#define LINES 4
#define LANES_K 4
#define WARPS 1
#define SLICE_K 2
#define UNROLL 4
#define SPLIT_K 16
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_skinny_instance.inc"

#define INSTANCE rows_nn
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

#define INSTANCE wide_rows_tn
#define FEW_SIDE 0
#define FEW 8
#define LINES 8
#define LANES_K 8
#define WARPS 1
#define SLICE_K 2
#define UNROLL 4
#define SPLIT_K 4
#define TRANSPOSE_A 1
#define TRANSPOSE_B 0
#include "gemm_skinny_instance.inc"

#define INSTANCE row_nt
#define FEW_SIDE 0
#define FEW 1
#define LINES 8
#define LANES_K 32
#define WARPS 2
#define SLICE_K 1
#define UNROLL 4
#define SPLIT_K 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 1
#include "gemm_skinny_instance.inc"

#define INSTANCE rows_tt
#define FEW_SIDE 0
#define FEW 2
#define LINES 4
#define LANES_K 8
#define WARPS 1
#define SLICE_K 2
#define UNROLL 4
#define SPLIT_K 2
#define TRANSPOSE_A 1
#define TRANSPOSE_B 1
#include "gemm_skinny_instance.inc"

#define INSTANCE column_nn
#define FEW_SIDE 1
#define FEW 2
#define LINES 2
#define LANES_K 32
#define WARPS 1
#define SLICE_K 2
#define UNROLL 8
#define SPLIT_K 128
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_skinny_instance.inc"

#define INSTANCE columns_nt
#define FEW_SIDE 1
#define FEW 16
#define LINES 4
#define LANES_K 4
#define WARPS 1
#define SLICE_K 2
#define UNROLL 4
#define SPLIT_K 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 1
#include "gemm_skinny_instance.inc"

#define INSTANCE columns_tn
#define FEW_SIDE 1
#define FEW 2
#define LINES 8
#define LANES_K 4
#define WARPS 1
#define SLICE_K 2
#define UNROLL 8
#define SPLIT_K 4
#define TRANSPOSE_A 1
#define TRANSPOSE_B 0
#include "gemm_skinny_instance.inc"

#define INSTANCE columns_tt
#define FEW_SIDE 1
#define FEW 32
#define LINES 2
#define LANES_K 1
#define WARPS 2
#define SLICE_K 1
#define UNROLL 4
#define SPLIT_K 1
#define TRANSPOSE_A 1
#define TRANSPOSE_B 1
#include "gemm_skinny_instance.inc"

// Of 16-bit operands: both operands K-major or not, few rows and few columns.
#define INSTANCE row_bf16_nt
#define FEW_SIDE 0
#define FEW 1
#define LINES 2
#define LANES_K 32
#define WARPS 1
#define SLICE_K 4
#define UNROLL 8
#define SPLIT_K 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 1
#define ELEMENT __nv_bfloat16
#define ELEMENT_OF_C __nv_bfloat16
#include "gemm_skinny_instance.inc"

#define INSTANCE rows_f16_nt
#define FEW_SIDE 0
#define FEW 4
#define LINES 2
#define LANES_K 8
#define WARPS 1
#define SLICE_K 2
#define UNROLL 4
#define SPLIT_K 4
#define TRANSPOSE_A 0
#define TRANSPOSE_B 1
#define ELEMENT __half
#define ELEMENT_OF_C float
#include "gemm_skinny_instance.inc"

#define INSTANCE rows_bf16_nn
#define FEW_SIDE 0
#define FEW 2
#define LINES 8
#define LANES_K 4
#define WARPS 1
#define SLICE_K 2
#define UNROLL 4
#define SPLIT_K 2
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#define ELEMENT __nv_bfloat16
#define ELEMENT_OF_C __nv_bfloat16
#include "gemm_skinny_instance.inc"

#define INSTANCE rows_f16_nn
#define FEW_SIDE 0
#define FEW 4
#define LINES 4
#define LANES_K 1
#define WARPS 2
#define SLICE_K 1
#define UNROLL 8
#define SPLIT_K 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#define ELEMENT __half
#define ELEMENT_OF_C __half
#include "gemm_skinny_instance.inc"

#define INSTANCE rows_f16_tn
#define FEW_SIDE 0
#define FEW 4
#define LINES 8
#define LANES_K 4
#define WARPS 1
#define SLICE_K 2
#define UNROLL 4
#define SPLIT_K 1
#define TRANSPOSE_A 1
#define TRANSPOSE_B 0
#define ELEMENT __half
#define ELEMENT_OF_C float
#include "gemm_skinny_instance.inc"

#define INSTANCE rows_bf16_tt
#define FEW_SIDE 0
#define FEW 2
#define LINES 4
#define LANES_K 32
#define WARPS 2
#define SLICE_K 1
#define UNROLL 4
#define SPLIT_K 2
#define TRANSPOSE_A 1
#define TRANSPOSE_B 1
#define ELEMENT __nv_bfloat16
#define ELEMENT_OF_C float
#include "gemm_skinny_instance.inc"

#define INSTANCE column_bf16_nn
#define FEW_SIDE 1
#define FEW 1
#define LINES 2
#define LANES_K 32
#define WARPS 1
#define SLICE_K 2
#define UNROLL 16
#define SPLIT_K 8
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#define ELEMENT __nv_bfloat16
#define ELEMENT_OF_C __nv_bfloat16
#include "gemm_skinny_instance.inc"

#define INSTANCE columns_f16_nt
#define FEW_SIDE 1
#define FEW 8
#define LINES 4
#define LANES_K 32
#define WARPS 2
#define SLICE_K 1
#define UNROLL 4
#define SPLIT_K 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 1
#define ELEMENT __half
#define ELEMENT_OF_C __half
#include "gemm_skinny_instance.inc"

#define INSTANCE columns_bf16_tn
#define FEW_SIDE 1
#define FEW 2
#define LINES 4
#define LANES_K 1
#define WARPS 2
#define SLICE_K 2
#define UNROLL 4
#define SPLIT_K 1
#define TRANSPOSE_A 1
#define TRANSPOSE_B 0
#define ELEMENT __nv_bfloat16
#define ELEMENT_OF_C __nv_bfloat16
#include "gemm_skinny_instance.inc"

#define INSTANCE columns_bf16_tt
#define FEW_SIDE 1
#define FEW 16
#define LINES 4
#define LANES_K 4
#define WARPS 1
#define SLICE_K 2
#define UNROLL 4
#define SPLIT_K 1
#define TRANSPOSE_A 1
#define TRANSPOSE_B 1
#define ELEMENT __nv_bfloat16
#define ELEMENT_OF_C __nv_bfloat16
#include "gemm_skinny_instance.inc"

// clang-format on

const std::vector<const Instance*> kInstances = {
    &row_nn::instance,     &rows_nn::instance,    &wide_rows_tn::instance,
    &row_nt::instance,     &rows_tt::instance,    &column_nn::instance,
    &columns_nt::instance, &columns_tn::instance, &columns_tt::instance};

// An instance for 16-bit operands.
struct TypedInstance {
  const Instance* instance;
  ElementType operand, result;

  autotune::GemmTypes types() const { return {operand, operand, result, ElementType::f32}; }
};
using enum autotune::ElementType;
const std::vector<TypedInstance> k16BitInstances = {
    {&row_bf16_nt::instance, bf16, bf16},     {&rows_f16_nt::instance, f16, f32},
    {&rows_bf16_nn::instance, bf16, bf16},    {&rows_f16_nn::instance, f16, f16},
    {&rows_f16_tn::instance, f16, f32},       {&rows_bf16_tt::instance, bf16, f32},
    {&column_bf16_nn::instance, bf16, bf16},  {&columns_f16_nt::instance, f16, f16},
    {&columns_bf16_tn::instance, bf16, bf16}, {&columns_bf16_tt::instance, bf16, bf16}};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// The order in which a configuration adds up: groups of every so many of the blocks' parts of K, in
// each part the slices' batches, in those the lanes that share K.
class Order {
 public:
  Order(const Instance& instance, const GemmProblem& problem)
      : slices_(instance.configuration.at("SLICE_K")),
        along_k_(instance.configuration.at("FEW_SIDE") == 0 ? instance.op_b == Transpose::transposed
                                                            : instance.op_a == Transpose::none),
        lanes_k_(instance.configuration.at("LANES_K")),
        batch_(instance.configuration.at("UNROLL") * lanes_k_),
        k_(problem.k),
        run_(along_k_ ? 4 : 1) {
    if (problem.types.a != ElementType::f32) {  // two in a word
      batch_ *= 2;
      run_ = along_k_ ? 8 : batch_ / lanes_k_;
    }
    batches_ = ceil_div(k_, batch_);
    parts_ = std::min(instance.configuration.at("SPLIT_K"), batches_);
    // Threads that the tile's results leave idle share the parts.
    const std::int64_t warps = instance.configuration.at("WARPS");
    const std::int64_t results = instance.configuration.at("FEW") * warps *
                                 instance.configuration.at("LINES") * (32 / lanes_k_);
    groups_ = std::clamp<std::int64_t>(32 * warps * slices_ / results, 1, 32);
  }

  template <typename Add>
  float sum(const Add& add) const {
    if (parts_ == 1) return part_sum(begin(0), begin(1), add);
    float total = 0;
    for (std::int64_t group = 0; group < groups_; ++group) {
      float of_group = 0;
      for (std::int64_t part = group; part < parts_; part += groups_) {
        of_group += part_sum(begin(part), begin(part + 1), add);
      }
      total += of_group;
    }
    return total;
  }

 private:
  std::int64_t begin(std::int64_t part) const {
    return part * (batches_ / parts_) + std::min(part, batches_ % parts_);
  }
  template <typename Add>
  float part_sum(std::int64_t from, std::int64_t to, const Add& add) const {
    float total = 0;
    for (std::int64_t slice = 0; slice < slices_; ++slice) {
      float lanes[32] = {};
      for (std::int64_t batch = from + slice; batch < to; batch += slices_) {
        for (std::int64_t k = batch * batch_; k < std::min((batch + 1) * batch_, k_); ++k) {
          float& own = lanes[k / run_ % lanes_k_];
          own = add(own, k);
        }
      }
      for (std::int64_t offset = lanes_k_ / 2; offset > 0; offset /= 2) {
        for (std::int64_t lane = 0; lane < offset; ++lane) lanes[lane] += lanes[lane + offset];
      }
      total = slice == 0 ? lanes[0] : total + lanes[0];
    }
    return total;
  }

  std::int64_t slices_;
  bool along_k_;
  std::int64_t lanes_k_, batch_, k_;
  std::int64_t run_;  // elements of K side by side of one lane
  std::int64_t batches_ = 1, parts_ = 1, groups_ = 1;
};

// Returns the elements that an instance computes wrongly; 0 where dozens of tiles along the side for
// few take long on threads of the CPU and show no more.
int wrong_elements(const Instance& instance, ArithmeticCase test) {
  const bool is_fp32 = test.problem.types.a == ElementType::f32;
  const autotune::KernelTemplate& kernel =
      *autotune::built_in_kernels().find(is_fp32 ? "gemm_skinny" : "gemm_skinny16");
  const bool few_rows = instance.configuration.at("FEW_SIDE") == 0;
  const std::int64_t few = few_rows ? test.problem.m : test.problem.n;
  if (few > 8 * instance.configuration.at("FEW")) return 0;
  test.problem.op_a = instance.op_a;
  test.problem.op_b = instance.op_b;
  const Order order(instance, test.problem);
  const auto sum = [&](std::int64_t, std::int64_t, const auto& add) { return order.sum(add); };
  return autotune::test::wrong_elements(kernel, instance, test, sum);
}

TEST_SUITE("gemm_skinny arithmetic") {
  TEST_CASE("every instance is a configuration of the space") {
    const autotune::KernelTemplate& kernel = *autotune::built_in_kernels().find("gemm_skinny");
    for (const Instance* instance : kInstances) {
      CHECK_NOTHROW(static_cast<void>(kernel.space.validated(instance->configuration)));
    }
    const autotune::KernelTemplate& of_16_bit = *autotune::built_in_kernels().find("gemm_skinny16");
    for (const TypedInstance& typed : k16BitInstances) {
      CHECK_NOTHROW(static_cast<void>(of_16_bit.space.validated(typed.instance->configuration)));
    }
  }

  TEST_CASE("sums have the promised bits") {
    const std::vector<ArithmeticCase> cases = {
        {{1, 1, 1}, 1, 0, 0, 0},            // one element
        {{1, 256, 64}, 1, 0, 0, 0},         // whole tiles, mostly
        {{256, 1, 64}, 1, 0, 0, 0},         // the same of columns
        {{4, 140, 40}, -1.5F, 0.5F, 4, 0},  // several tiles, leading dimensions still aligned
        {{140, 4, 40}, -1.5F, 0.5F, 4, 0},  // the same of columns
        {{5, 9, 519}, 2, -1, 3, 1},  // edges everywhere, odd leading dimensions and addresses
        {{6, 40, 1}, 1, 0, 0, 0},    // some results are -0
        {{3, 2, 9000}, 1, 0, 0, 0},  // more of K than shared memory holds
    };
    for (const Instance* instance : kInstances) {
      for (const ArithmeticCase& test : cases) {
        CAPTURE(to_string(instance->configuration));
        CAPTURE(to_string(test.problem));
        CHECK(wrong_elements(*instance, test) == 0);
        CHECK(cuda_on_cpu::misaligned_accesses == 0);
      }
    }
  }

  TEST_CASE("sums of products of 16-bit operands have the promised bits") {
    const std::vector<ArithmeticCase> cases = {
        {{1, 1, 1}, 1, 0, 0, 0},             // one element
        {{1, 72, 1024}, 1, 0, 0, 0},         // whole batches
        {{72, 1, 1024}, 1, 0, 0, 0},         // the same of columns
        {{4, 140, 200}, -1.5F, 0.5F, 4, 0},  // several tiles, some rows aligned
        {{140, 4, 200}, -1.5F, 0.5F, 4, 0},  // the same of columns
        {{5, 9, 519}, 2, -1, 3, 1},          // rows at odd elements
        {{9, 5, 1030}, 1, 0, 1, 0},          // the same from an aligned address on
        {{3, 24, 1064}, 1, 0, 8, 6},         // aligned leading dimensions, but no aligned row
        {{3, 10, 320}, 1, 1, 6, 0},          // aligned rows that are no whole vectors
        {{6, 40, 1}, 1, 0, 0, 0},            // some results are -0
        {{2, 3, 9000}, 1, 0, 0, 0},          // more of K than shared memory holds
    };
    for (const TypedInstance& typed : k16BitInstances) {
      for (ArithmeticCase test : cases) {
        test.problem.types = typed.types();
        CAPTURE(to_string(typed.instance->configuration));
        CAPTURE(to_string(test.problem));
        CHECK(wrong_elements(*typed.instance, test) == 0);
        CHECK(cuda_on_cpu::misaligned_accesses == 0);
      }
    }
  }
}

}  // namespace
