// What the descriptions of gemm_skinny and gemm_skinny16 have in common. Values: a description's own
// names for the values of a configuration.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernel_templates/gemm_template.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

// Returns the launch but for its dynamic shared memory. batches: of K, at most one for each of the
// blocks that split it.
template <typename Values>
[[nodiscard]] LaunchGeometry skinny_launch(const Values& v, const GemmProblem& problem,
                                           std::int64_t batches) {
  const std::int64_t few = v.few_rows() ? problem.m : problem.n;
  const std::int64_t lines = v.few_rows() ? problem.n : problem.m;
  const std::int64_t tiles = ceil_div(few, v.few()) * ceil_div(lines, v.block_lines());
  // The counters are few; where tiles are many, splitting them gains nothing.
  const std::int64_t wanted = std::min(v.parts(), batches);
  const std::int64_t parts = may_share(tiles * wanted, problem.batch, v.tile_bytes()) ? wanted : 1;
  LaunchGeometry result;
  result.waits_for_launch_before = true;
  result.spread(tiles * parts, problem.batch);
  result.block[0] = v.threads();
  if (parts > 1) result.workspace_bytes_per_block = v.tile_bytes();
  return result;
}

template <typename Values>
[[nodiscard]] TileShape skinny_tile_shape(const Values& v) {
  const std::int64_t lines = v.block_lines();
  return {.tile_width = 0,
          .results_m = v.few_rows() ? v.few() : v.lines(),
          .results_n = v.few_rows() ? v.lines() : v.few(),
          .unroll = v.unroll(),
          .block_m = v.few_rows() ? v.few() : lines,
          .block_n = v.few_rows() ? lines : v.few(),
          .block_k = v.slices() * v.batch()};
}

}  // namespace autotune
