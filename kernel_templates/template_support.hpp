// Functions and constants that the descriptions of templates have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/config_space.hpp"
#include "core/element_type.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// Returns a / b, rounded up; both are positive.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Bytes of an element of the operands, and of a sum, in templates whose spaces do not depend on the
// types of a problem.
inline constexpr std::int64_t kElementBytes = size_bytes(ElementType::f32);

// Registers of every SM since compute capability 8.0.
inline constexpr std::int64_t kRegistersPerSm = 64 * 1024;
// The most shared memory that any SM has, in bytes; device_constraints() hold a device to its own.
inline constexpr std::int64_t kSharedPerSm = 227 * 1024;

// Returns whether neither number is more than `most` times the other; both are positive.
[[nodiscard]] constexpr bool balanced(std::int64_t a, std::int64_t b, std::int64_t most) {
  return std::max(a, b) <= most * std::min(a, b);
}

using ParameterNames = std::vector<std::string>;
[[nodiscard]] inline ParameterNames operator+(ParameterNames names, const ParameterNames& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

// Returns ptxas's option for the parameter REGISTER_LEVEL.
[[nodiscard]] inline std::vector<std::string> register_level_option(
    const Configuration& configuration) {
  return {"-Xptxas=--register-usage-level=" + std::to_string(configuration.at("REGISTER_LEVEL"))};
}

// Returns whether this number of blocks may share tiles. With many blocks a device is busy without
// sharing, and their partial sums in the workspace cost more than they gain. A tile of 132
// parts needs 12 counters, so that kWorkspaceCounters suffice for kMostBlocks. `blocks`: for one
// product of a batch of `products`.
[[nodiscard]] constexpr bool may_share(std::int64_t blocks, std::int64_t products,
                                       std::int64_t bytes_each) {
  constexpr std::int64_t kMostBytes = 256 << 20;
  constexpr std::int64_t kMostBlocks = 4096;
  return blocks <= kMostBlocks / products && blocks * products * bytes_each <= kMostBytes;
}

// Returns whether blocks may share tiles of `k_tiles` k_tiles each evenly. Kernels count the
// k_tiles of all shared tiles in 32 bits; these tiles are fewer than 7/6 of the blocks, and no
// device runs 8192 blocks at once.
[[nodiscard]] constexpr bool may_share_evenly(std::int64_t k_tiles) {
  return k_tiles > 1 && k_tiles <= 1 << 18;
}

// Returns the bytes of shared memory through which each block of a cluster receives sums.
// `results`: of one tile.
[[nodiscard]] constexpr std::int64_t cluster_bytes(std::int64_t blocks, std::int64_t results) {
  return blocks == 1 ? 0 : kElementBytes * (results / blocks * (blocks - 1)) + 16;
}

// The value of SPLIT_K for as many blocks as run at once, which share the last tiles evenly.
inline constexpr std::int64_t kEvenly = 0;
// Blocks that share a tile see their number from the grid.
inline constexpr LaunchParameter kSplit = {.name = "SPLIT_K", .least = 2};
// The order of the tiles is an argument of the launch (LaunchGeometry::raster).
inline constexpr LaunchParameter kRaster = {.name = "RASTER", .least = 1};

// Makes a constraint whose rule sees the configuration as `Values`, a template's names for its
// parameters. `parameters`: those that the rule looks at.
template <typename Values, typename Rule>
[[nodiscard]] Constraint constraint_on(std::string name, std::string meaning,
                                       std::vector<std::string> parameters, Rule rule) {
  return {std::move(name), std::move(meaning),
          [rule](const Configuration& configuration) { return rule(Values{configuration}); },
          std::move(parameters)};
}

// Makes such a constraint whose rule may look at all parameters.
template <typename Values, typename Rule>
[[nodiscard]] Constraint constraint_on(std::string name, std::string meaning, Rule rule) {
  return constraint_on<Values>(std::move(name), std::move(meaning), {}, rule);
}

}  // namespace autotune
