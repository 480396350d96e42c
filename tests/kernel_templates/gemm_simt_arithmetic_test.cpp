// The kernel of gemm_simt.cu itself, run on the CPU: bit for bit the sums that it promises, at
// every kind of edge, layout and alignment, within its matrices.
#include <span>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "arithmetic_case.hpp"
#include "cuda_on_cpu.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace {

using autotune::Configuration;
using autotune::GemmProblem;
using autotune::test::ArithmeticCase;
using cuda_on_cpu::__syncthreads;
using cuda_on_cpu::blockIdx;
using cuda_on_cpu::gridDim;
using cuda_on_cpu::threadIdx;
using Instance = autotune::test::KernelInstance;

// clang-format off
#define INSTANCE small_nn
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
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_simt_instance.inc"

#define INSTANCE plain_buffer_nt
#define RESULTS_M 4
#define RESULTS_N 4
#define LANES_M 4
#define WARPS_M 1
#define WARPS_N 2
#define SLICE_K 1
#define BLOCK_K 8
#define SHARED_K_MAJOR 1
#define UNROLL 8
#define ORDER 0
#define STAGES 6
#define DOUBLE_BUFFER 0
#define MIN_BLOCKS 6
#define RASTER 8
#define STAGE_EPILOGUE 0
#define SPLIT_K 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 1
#include "gemm_simt_instance.inc"

#define INSTANCE wide_tile_tn
#define RESULTS_M 8
#define RESULTS_N 16
#define LANES_M 8
#define WARPS_M 1
#define WARPS_N 4
#define SLICE_K 1
#define BLOCK_K 16
#define SHARED_K_MAJOR 0
#define UNROLL 16
#define ORDER 2
#define STAGES 4
#define DOUBLE_BUFFER 1
#define MIN_BLOCKS 2
#define RASTER 8
#define STAGE_EPILOGUE 0
#define SPLIT_K 1
#define TRANSPOSE_A 1
#define TRANSPOSE_B 0
#include "gemm_simt_instance.inc"

#define INSTANCE sliced_tt
#define RESULTS_M 4
#define RESULTS_N 4
#define LANES_M 8
#define WARPS_M 1
#define WARPS_N 1
#define SLICE_K 2
#define BLOCK_K 16
#define SHARED_K_MAJOR 1
#define UNROLL 8
#define ORDER 0
#define STAGES 3
#define DOUBLE_BUFFER 1
#define MIN_BLOCKS 6
#define RASTER 8
#define STAGE_EPILOGUE 0
#define SPLIT_K 1
#define TRANSPOSE_A 1
#define TRANSPOSE_B 1
#include "gemm_simt_instance.inc"

#define INSTANCE split_nn
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
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_simt_instance.inc"

#define INSTANCE even_nn
#define RESULTS_M 8
#define RESULTS_N 8
#define LANES_M 8
#define WARPS_M 1
#define WARPS_N 4
#define SLICE_K 1
#define BLOCK_K 8
#define SHARED_K_MAJOR 0
#define UNROLL 8
#define ORDER 0
#define STAGES 6
#define DOUBLE_BUFFER 1
#define MIN_BLOCKS 2
#define RASTER 8
#define STAGE_EPILOGUE 0
#define SPLIT_K 0
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_simt_instance.inc"

#define INSTANCE sliced_split_tn
#define RESULTS_M 4
#define RESULTS_N 8
#define LANES_M 8
#define WARPS_M 1
#define WARPS_N 1
#define SLICE_K 4
#define BLOCK_K 16
#define SHARED_K_MAJOR 0
#define UNROLL 8
#define ORDER 0
#define STAGES 3
#define DOUBLE_BUFFER 1
#define MIN_BLOCKS 3
#define RASTER 1
#define STAGE_EPILOGUE 0
#define SPLIT_K 2
#define TRANSPOSE_A 1
#define TRANSPOSE_B 0
#include "gemm_simt_instance.inc"

#define INSTANCE deep_nt
#define RESULTS_M 8
#define RESULTS_N 8
#define LANES_M 8
#define WARPS_M 1
#define WARPS_N 2
#define SLICE_K 2
#define BLOCK_K 16
#define SHARED_K_MAJOR 0
#define UNROLL 8
#define ORDER 0
#define STAGES 3
#define DOUBLE_BUFFER 1
#define MIN_BLOCKS 3
#define RASTER 1
#define STAGE_EPILOGUE 0
#define SPLIT_K 16
#define TRANSPOSE_A 0
#define TRANSPOSE_B 1
#include "gemm_simt_instance.inc"

#define INSTANCE by_line_nn
#define RESULTS_M 4
#define RESULTS_N 4
#define LANES_M 8
#define WARPS_M 1
#define WARPS_N 4
#define SLICE_K 1
#define BLOCK_K 16
#define SHARED_K_MAJOR 1
#define UNROLL 16
#define ORDER 0
#define STAGES 3
#define DOUBLE_BUFFER 1
#define MIN_BLOCKS 3
#define RASTER 8
#define STAGE_EPILOGUE 0
#define SPLIT_K 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_simt_instance.inc"

#define INSTANCE exchanged_nn
#define RESULTS_M 8
#define RESULTS_N 8
#define LANES_M 4
#define WARPS_M 1
#define WARPS_N 2
#define SLICE_K 2
#define BLOCK_K 16
#define SHARED_K_MAJOR 0
#define UNROLL 8
#define ORDER 0
#define STAGES 3
#define DOUBLE_BUFFER 1
#define MIN_BLOCKS 3
#define RASTER 8
#define STAGE_EPILOGUE 1
#define SPLIT_K 1
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#include "gemm_simt_instance.inc"

// clang-format on

const std::vector<const Instance*> kInstances = {
    &small_nn::instance,     &by_line_nn::instance,      &plain_buffer_nt::instance,
    &wide_tile_tn::instance, &sliced_tt::instance,       &split_nn::instance,
    &even_nn::instance,      &sliced_split_tn::instance, &deep_nt::instance,
    &exchanged_nn::instance};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// The order in which a configuration adds up: chains over the k of each slice, added in halves
// within a block. The blocks' sums of a tile are added one after the other; more than
// one block adds at once go in groups of neighbours first. Blocks that share evenly take whole
// tiles as long as there is one for each.
class Order {
 public:
  Order(const Configuration& c, const GemmProblem& problem, std::int64_t blocks)
      : block_k_(c.at("BLOCK_K")),
        slices_(c.at("SLICE_K")),
        raster_(c.at("RASTER")),
        split_(c.at("SPLIT_K")),
        k_(problem.k),
        phases_(ceil_div(problem.k, block_k_)),
        rows_(c.at("WARPS_M") * c.at("LANES_M") * c.at("RESULTS_M")),
        columns_(c.at("WARPS_N") * (32 / c.at("LANES_M")) * c.at("RESULTS_N")),
        tiles_m_(ceil_div(problem.m, rows_)),
        tiles_n_(ceil_div(problem.n, columns_)),
        blocks_(blocks) {}

  template <typename Add>
  float sum(std::int64_t row, std::int64_t column, const Add& add) const {
    const std::int64_t tile = tile_of(row / rows_, column / columns_);
    if (tile < first_shared()) return block_sum(0, phases_, add);
    const std::int64_t first = (tile - first_shared()) * phases_;
    std::vector<float> parts;
    for (std::int64_t block = 0; block < blocks_; ++block) {
      const std::int64_t from = std::max(begin(block), first);
      const std::int64_t to = std::min(begin(block + 1), first + phases_);
      if (from < to) parts.push_back(block_sum(from - first, to - first, add));
    }
    if (parts.size() == 1) return parts.front();
    const auto results = static_cast<std::size_t>(rows_ * columns_);
    const std::size_t at_once = std::clamp<std::size_t>(32'768 / results, 8, 64);
    if (parts.size() <= at_once) return combined(parts);
    std::size_t group = at_once / 2;
    while (group * group < parts.size()) ++group;
    std::vector<float> groups;
    for (std::size_t i = 0; i < parts.size(); i += group) {
      groups.push_back(combined(std::span(parts).subspan(i, std::min(group, parts.size() - i))));
    }
    return combined(groups);
  }

 private:
  static float combined(std::span<const float> parts) {
    float total = 0;
    for (const float part : parts) total += part;
    return total;
  }
  std::int64_t tile_of(std::int64_t tile_m, std::int64_t tile_n) const {
    const std::int64_t group = tile_m / raster_;
    const std::int64_t rows = std::min(raster_, tiles_m_ - group * raster_);
    return group * raster_ * tiles_n_ + tile_n * rows + tile_m % raster_;
  }
  std::int64_t first_shared() const {
    const std::int64_t tiles = tiles_m_ * tiles_n_;
    if (split_ != 0 || tiles < blocks_) return 0;
    const std::int64_t rest = tiles % blocks_;
    const bool few = rest > 0 && 6 * rest < blocks_;
    return tiles - rest - (few ? blocks_ : 0);
  }
  std::int64_t begin(std::int64_t block) const {
    const std::int64_t tiles = tiles_m_ * tiles_n_;
    if (split_ == 0) {
      const std::int64_t work = (tiles - first_shared()) * phases_;
      return block * (work / blocks_) + std::min(block, work % blocks_);
    }
    const std::int64_t of_tile = blocks_ / tiles;
    const std::int64_t part = block % of_tile;
    return block / of_tile * phases_ + part * (phases_ / of_tile) +
           std::min(part, phases_ % of_tile);
  }
  template <typename Add>
  float block_sum(std::int64_t from, std::int64_t to, const Add& add) const {
    std::vector<float> sums(static_cast<std::size_t>(slices_), 0.0F);
    for (std::int64_t k = from * block_k_; k < std::min(to * block_k_, k_); ++k) {
      float& own = sums[static_cast<std::size_t>(k % block_k_ / (block_k_ / slices_))];
      own = add(own, k);
    }
    for (std::size_t half = sums.size() / 2; half > 0; half /= 2) {
      for (std::size_t slice = 0; slice < half; ++slice) sums[slice] += sums[slice + half];
    }
    return sums.front();
  }

  std::int64_t block_k_, slices_, raster_, split_, k_, phases_, rows_, columns_, tiles_m_, tiles_n_,
      blocks_;
};

TEST_SUITE("gemm_simt arithmetic") {
  TEST_CASE("every instance is a configuration of the space") {
    const autotune::KernelTemplate& kernel = *autotune::built_in_kernels().find("gemm_simt");
    for (const Instance* instance : kInstances) {
      CHECK_NOTHROW(static_cast<void>(kernel.space.validated(instance->configuration)));
    }
  }

  TEST_CASE("sums have the promised bits") {
    const autotune::KernelTemplate& kernel = *autotune::built_in_kernels().find("gemm_simt");
    const std::vector<ArithmeticCase> cases = {
        {{1, 1, 1}, 1, 0, 0, 0},             // one element
        {{64, 128, 48}, 1, 0, 0, 0},         // whole tiles, mostly
        {{160, 96, 40}, -1.5F, 0.5F, 4, 0},  // several tiles, leading dimensions still aligned
        {{33, 17, 19}, 1, 0, 0, 0},          // edges everywhere
        {{20, 40, 9}, 2, -1, 3, 1},          // odd leading dimensions and addresses
        {{64, 64, 16}, 1, 1, 0, 1},          // whole tiles at odd addresses
        {{40, 40, 1}, 1, 0, 0, 0},           // some results are -0
        {{1, 300, 40}, 1, 0, 0, 0},          // one row
        {{300, 1, 7}, 0, 1, 0, 0},           // one column, fewer elements of K than a phase
        {{5, 6, 333}, 1, 0, 0, 0},           // many phases
        {{330, 300, 40}, 1, 0, 0, 0},        // more tiles than blocks that share evenly
        {{570, 100, 40}, 1, 0, 0, 0},        // one tile more than these
    };
    for (const Instance* instance : kInstances) {
      for (ArithmeticCase test : cases) {
        test.problem.op_a = instance->op_a;
        test.problem.op_b = instance->op_b;
        CAPTURE(to_string(instance->configuration));
        CAPTURE(to_string(test.problem));
        const Order order(instance->configuration, test.problem,
                          autotune::test::geometry_of(kernel, *instance, test.problem).blocks());
        const auto sum = [&](std::int64_t row, std::int64_t column, const auto& add) {
          return order.sum(row, column, add);
        };
        CHECK(wrong_elements(kernel, *instance, test, sum) == 0);
        CHECK(cuda_on_cpu::misaligned_accesses == 0);
      }
    }
  }
}

}  // namespace
