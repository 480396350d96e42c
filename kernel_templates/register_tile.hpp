// The parts of a description that templates with register tiles (device/register_tile.cuh) have in
// common: names for their parameters, the launch geometry and the shape of the tile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/gemm_template.hpp"
#include "kernel_templates/template_support.hpp"

namespace autotune {

// A value of a configuration, whose name is looked up when it is first asked for.
class NamedValue {
 public:
  NamedValue(const Configuration& configuration, std::string_view name)
      : configuration_(configuration), name_(name) {}
  [[nodiscard]] std::int64_t operator()() const {
    if (!value_) value_ = configuration_.at(name_);
    return *value_;
  }

 private:
  const Configuration& configuration_;
  std::string_view name_;
  mutable std::optional<std::int64_t> value_;
};

// A configuration's values by name, for one thread. A constraint sees only those of its parameters
// set. Each name is looked up once: gemm() predicts by the launches of dozens of configurations.
struct RegisterTile {
  const Configuration& c;

  explicit RegisterTile(const Configuration& configuration) : c(configuration) {}

  NamedValue results_m{c, "RESULTS_M"};
  NamedValue results_n{c, "RESULTS_N"};
  NamedValue lanes_m{c, "LANES_M"};
  NamedValue warps_m{c, "WARPS_M"};
  NamedValue warps_n{c, "WARPS_N"};
  NamedValue slices{c, "SLICE_K"};
  NamedValue block_k{c, "BLOCK_K"};
  NamedValue stages{c, "STAGES"};
  NamedValue min_blocks{c, "MIN_BLOCKS"};
  NamedValue split_k{c, "SPLIT_K"};
  NamedValue cluster{c, "CLUSTER"};

  [[nodiscard]] std::int64_t results() const { return results_m() * results_n(); }
  [[nodiscard]] std::int64_t warp_m() const { return lanes_m() * results_m(); }
  [[nodiscard]] std::int64_t warp_n() const { return 32 / lanes_m() * results_n(); }
  [[nodiscard]] std::int64_t tile_m() const { return warps_m() * warp_m(); }
  [[nodiscard]] std::int64_t tile_n() const { return warps_n() * warp_n(); }
  // Threads that multiply.
  [[nodiscard]] std::int64_t threads() const { return 32 * warps_m() * warps_n() * slices(); }
  [[nodiscard]] std::int64_t slice_k() const { return block_k() / slices(); }

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
