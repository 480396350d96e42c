// The parts of a description that templates with register tiles (device/register_tile.cuh) have in
// common: names for their parameters, the launch geometry and the shape of the tile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/gemm_template.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

// A configuration's values by name. A constraint sees only those of its parameters set.
struct RegisterTile {
  const Configuration& c;

  explicit RegisterTile(const Configuration& configuration) : c(configuration) {}

  [[nodiscard]] std::int64_t results_m() const { return c.at("RESULTS_M"); }
  [[nodiscard]] std::int64_t results_n() const { return c.at("RESULTS_N"); }
  [[nodiscard]] std::int64_t results() const { return results_m() * results_n(); }
  [[nodiscard]] std::int64_t lanes_m() const { return c.at("LANES_M"); }
  [[nodiscard]] std::int64_t warp_m() const { return lanes_m() * results_m(); }
  [[nodiscard]] std::int64_t warp_n() const { return 32 / lanes_m() * results_n(); }
  [[nodiscard]] std::int64_t tile_m() const { return c.at("WARPS_M") * warp_m(); }
  [[nodiscard]] std::int64_t tile_n() const { return c.at("WARPS_N") * warp_n(); }
  [[nodiscard]] std::int64_t slices() const { return c.at("SLICE_K"); }
  // Threads that multiply.
  [[nodiscard]] std::int64_t threads() const {
    return 32 * c.at("WARPS_M") * c.at("WARPS_N") * slices();
  }
  [[nodiscard]] std::int64_t block_k() const { return c.at("BLOCK_K"); }
  [[nodiscard]] std::int64_t slice_k() const { return block_k() / slices(); }
  [[nodiscard]] std::int64_t stages() const { return c.at("STAGES"); }
  [[nodiscard]] std::int64_t min_blocks() const { return c.at("MIN_BLOCKS"); }
  [[nodiscard]] std::int64_t split_k() const { return c.at("SPLIT_K"); }
  [[nodiscard]] std::int64_t cluster() const { return c.at("CLUSTER"); }

  // Bytes of dynamic shared memory for buffers of `stage` elements each, or for the sums that
  // slices exchange in the same place, and for the sums that a cluster exchanges.
  [[nodiscard]] std::int64_t buffer_bytes(std::int64_t stage) const;
};

// The parameter of this name, with the meaning that it has in all of these templates.
[[nodiscard]] TuningParameter tile_parameter(std::string_view name,
                                             std::vector<std::int64_t> values);

// The parameters that make a thread's, a warp's and a block's tile.
[[nodiscard]] ParameterNames thread_tile_names();
[[nodiscard]] ParameterNames warp_tile_names();
[[nodiscard]] ParameterNames block_tile_names();

[[nodiscard]] Constraint warp_tile_constraint();

// The geometry of a launch except for its shared memory; the block has the threads that multiply.
[[nodiscard]] LaunchGeometry register_tile_geometry(const RegisterTile& tile,
                                                    const GemmProblem& problem);

[[nodiscard]] TileShape register_tile_shape(const Configuration& configuration);

}  // namespace autotune
