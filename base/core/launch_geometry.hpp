// The launch of a kernel for one problem.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace autotune {

// The number of words of 4 bytes at the start of a workspace that are zero when a kernel starts and
// when it ends.
inline constexpr std::int64_t kWorkspaceCounters = 1 << 16;

struct LaunchGeometry {
  std::array<std::int64_t, 3> grid = {1, 1, 1};   // blocks
  std::array<std::int64_t, 3> block = {1, 1, 1};  // threads
  std::int64_t dynamic_shared_bytes = 0;
  // The global memory for each block and for all of them together, in addition to the counters.
  // Both are 0 if the kernel needs no workspace. See kernel_templates/kernel_template.hpp.
  std::int64_t workspace_bytes_per_block = 0;
  std::int64_t workspace_bytes_shared = 0;
  // The launch of the kernel <name>_prepare, which precedes that of the kernel itself and has the
  // same arguments. 0 blocks: there is none.
  struct Preparation {
    // Of one tensor: its share of the blocks, and the bytes of its prepared form where that can be
    // kept for later launches, at a multiple of 256 bytes.
    struct Share {
      std::int64_t blocks = 0;
      std::int64_t bytes = 0;
      auto operator<=>(const Share&) const = default;
    };
    std::int64_t blocks = 0;
    std::int64_t threads = 0;
    std::int64_t dynamic_shared_bytes = 0;
    std::array<Share, 2> shares = {};  // of the first tensors
    auto operator<=>(const Preparation&) const = default;
  };
  Preparation preparation;
  // If this is not 0, the kernel works with any number of blocks, and at most this many are
  // launched for each SM.
  std::int64_t resident_blocks_per_sm = 0;
  // The blocks of a cluster, as the kernel was compiled. A grid consists of whole clusters.
  std::int64_t blocks_per_cluster = 1;
  // The rows of tiles that neighbouring blocks work on at a time. It is an argument of kernels that
  // leave the order of tiles to the launch.
  std::int64_t raster = 1;
  // True if the kernel itself waits for the previous launch on its stream. Devices that can do so
  // then prepare its launch meanwhile.
  bool waits_for_launch_before = false;
  // For each tensor, in the operation's order, the rows and columns that one instruction copies. If
  // they are not 0, the kernel needs a tensor map of the tensor when it is compiled for aligned
  // tensors.
  using Box = std::array<std::int64_t, 2>;
  static constexpr std::size_t kMaxTensors = 8;
  std::array<Box, kMaxTensors> tensor_boxes = {};
  // The bytes of a box's row, 0 or 128, within which the copies swizzle vectors of 16 bytes.
  std::int64_t map_swizzle = 0;

  // Sets the grid to `blocks_each` blocks for each of `products` products: all along x if so many
  // fit there, otherwise whole products along x and as many rows of them as are needed along y.
  void spread(std::int64_t blocks_each, std::int64_t products) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const std::int64_t fitting = std::max<std::int64_t>(kMost / blocks_each, 1);
    grid[1] = (products - 1) / fitting + 1;
    grid[0] = blocks_each * ((products - 1) / grid[1] + 1);
  }

  [[nodiscard]] std::int64_t threads() const { return block[0] * block[1] * block[2]; }
  [[nodiscard]] std::int64_t blocks() const { return grid[0] * grid[1] * grid[2]; }
  // Returns whether a device launches so many blocks: it takes 31 bits of them along x, 16 along y
  // and z.
  [[nodiscard]] bool is_launchable() const {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    constexpr std::int64_t kMostRows = std::numeric_limits<std::uint16_t>::max();
    return grid[0] <= kMost && grid[1] <= kMostRows && grid[2] <= kMostRows;
  }

  [[nodiscard]] std::int64_t workspace_bytes() const {
    const std::int64_t bytes = blocks() * workspace_bytes_per_block + workspace_bytes_shared;
    return bytes == 0 ? 0 : 4 * kWorkspaceCounters + bytes;
  }
  [[nodiscard]] bool needs_map(std::size_t tensor) const {
    return tensor < kMaxTensors && tensor_boxes[tensor][0] > 0;
  }
  // The geometry of the kernel that is compiled for tensors at any address.
  [[nodiscard]] LaunchGeometry without_maps() const {
    LaunchGeometry result = *this;
    result.tensor_boxes = {};
    return result;
  }
  // The geometry on a device with this many SMs.
  [[nodiscard]] LaunchGeometry on_device(int sm_count) const {
    LaunchGeometry result = *this;
    if (resident_blocks_per_sm > 0 && sm_count > 0) {
      const std::int64_t clusters = resident_blocks_per_sm * sm_count / blocks_per_cluster;
      const std::int64_t most = std::max<std::int64_t>(clusters, 1) * blocks_per_cluster;
      result.grid[0] = std::min(grid[0], most);
    }
    return result;
  }

  auto operator<=>(const LaunchGeometry&) const = default;
};

}  // namespace autotune
