// The kernel of gemm_skinny.cu itself, run on the CPU: bit for bit the sums that it promises, for
// few rows and few columns, at every kind of edge, layout and alignment, within its matrices.
#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "arithmetic_case.hpp"
#include "cuda_on_cpu.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace {

using autotune::Configuration;
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

// clang-format on

const std::vector<const Instance*> kInstances = {
    &row_nn::instance,     &rows_nn::instance,    &wide_rows_tn::instance,
    &row_nt::instance,     &rows_tt::instance,    &column_nn::instance,
    &columns_nt::instance, &columns_tn::instance, &columns_tt::instance};

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
        run_(along_k_ ? 4 : 1),
        lanes_k_(instance.configuration.at("LANES_K")),
        batch_(instance.configuration.at("UNROLL") * lanes_k_),
        k_(problem.k),
        batches_(ceil_div(k_, batch_)),
        parts_(std::min(instance.configuration.at("SPLIT_K"), batches_)) {
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
  std::int64_t run_, lanes_k_, batch_, k_, batches_, parts_;
  std::int64_t groups_ = 1;
};

TEST_SUITE("gemm_skinny arithmetic") {
  TEST_CASE("every instance is a configuration of the space") {
    const autotune::KernelTemplate& kernel = *autotune::built_in_kernels().find("gemm_skinny");
    for (const Instance* instance : kInstances) {
      CHECK_NOTHROW(static_cast<void>(kernel.space.validated(instance->configuration)));
    }
  }

  TEST_CASE("sums have the promised bits") {
    const autotune::KernelTemplate& kernel = *autotune::built_in_kernels().find("gemm_skinny");
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
      for (ArithmeticCase test : cases) {
        const bool few_rows = instance->configuration.at("FEW_SIDE") == 0;
        const std::int64_t few = few_rows ? test.problem.m : test.problem.n;
        // Dozens of tiles along the side for few take long on threads of the CPU and show no more.
        if (few > 8 * instance->configuration.at("FEW")) continue;
        test.problem.op_a = instance->op_a;
        test.problem.op_b = instance->op_b;
        CAPTURE(to_string(instance->configuration));
        CAPTURE(to_string(test.problem));
        const Order order(*instance, test.problem);
        const auto sum = [&](std::int64_t, std::int64_t, const auto& add) {
          return order.sum(add);
        };
        CHECK(wrong_elements(kernel, *instance, test, sum) == 0);
        CHECK(cuda_on_cpu::misaligned_accesses == 0);
      }
    }
  }
}

}  // namespace
