// What the templates' descriptions share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/config_space.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// a / b, rounded up; both positive.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// What every SM has since compute capability 8.0.
inline constexpr std::int64_t kRegistersPerSm = 64 * 1024;
// The most that any has yet, in bytes: what a device lacks its own constraints say.
inline constexpr std::int64_t kSharedPerSm = 227 * 1024;

// Whether neither is more than `most` times the other; both positive.
[[nodiscard]] constexpr bool balanced(std::int64_t a, std::int64_t b, std::int64_t most) {
  return std::max(a, b) <= most * std::min(a, b);
}

using ParameterNames = std::vector<std::string>;
[[nodiscard]] inline ParameterNames operator+(ParameterNames names, const ParameterNames& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

// ptxas's option for the parameter REGISTER_LEVEL.
[[nodiscard]] inline std::vector<std::string> register_level_option(
    const Configuration& configuration) {
  return {"--register-usage-level=" + std::to_string(configuration.at("REGISTER_LEVEL"))};
}

// Whether so many blocks may share tiles: where they are many, a device has enough to do without,
// and what they leave in the scratch costs more than they gain. A tile of 132 parts needs 12 of the
// kWorkspaceCounters, so they suffice for so many blocks.
[[nodiscard]] constexpr bool may_share(std::int64_t blocks, std::int64_t bytes_each) {
  constexpr std::int64_t kMostScratch = 256 << 20;  // bytes
  constexpr std::int64_t kMostBlocks = 4096;
  return blocks <= kMostBlocks && blocks * bytes_each <= kMostScratch;
}

// Whether blocks may share evenly tiles of so many phases each: they count the phases of all tiles
// that they share in 32 bits. These are fewer than 7/6 of the blocks, and 8192 blocks are more than
// any device runs at once.
[[nodiscard]] constexpr bool may_share_evenly(std::int64_t phases) {
  return phases > 1 && phases <= 1 << 18;
}

// Of the shared memory of each of a cluster's blocks, which have so many results of one tile.
[[nodiscard]] constexpr std::int64_t cluster_bytes(std::int64_t blocks, std::int64_t results) {
  return blocks == 1 ? 0 : 4 * (results / blocks * (blocks - 1)) + 16;
}

// As SPLIT_K: as many blocks as run at once, which share the last tiles evenly.
inline constexpr std::int64_t kEvenly = 0;
// Where blocks share a tile's work, they see from the grid how many they are.
inline constexpr LaunchParameter kSplit = {.name = "SPLIT_K", .least = 2};
// Which tile a block has is told by an argument (LaunchGeometry::raster).
inline constexpr LaunchParameter kRaster = {.name = "RASTER", .least = 1};

// A constraint whose rule sees the configuration as `Values`, a template's names for its
// parameters. `parameters`: those that the rule looks at.
template <typename Values, typename Rule>
[[nodiscard]] Constraint constraint_on(std::string name, std::string meaning,
                                       std::vector<std::string> parameters, Rule rule) {
  return {std::move(name), std::move(meaning),
          [rule](const Configuration& configuration) { return rule(Values{configuration}); },
          std::move(parameters)};
}

// The same for a rule that may look at all of them.
template <typename Values, typename Rule>
[[nodiscard]] Constraint constraint_on(std::string name, std::string meaning, Rule rule) {
  return constraint_on<Values>(std::move(name), std::move(meaning), {}, rule);
}

}  // namespace autotune
