// The launch of a kernel for one problem.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace autotune {

// Words of 4 bytes at the start of a kernel's workspace that are zero when it starts and when it
// ends.
inline constexpr std::int64_t kWorkspaceCounters = 1 << 16;

struct LaunchGeometry {
  std::array<std::int64_t, 3> grid = {1, 1, 1};   // blocks
  std::array<std::int64_t, 3> block = {1, 1, 1};  // threads
  std::int64_t dynamic_shared_bytes = 0;
  // Bytes of global memory for each block, in addition to the counters; 0: the kernel needs no
  // workspace. See kernel_templates/kernel_template.hpp.
  std::int64_t workspace_bytes_per_block = 0;
  // Not 0: the kernel works with any number of blocks, and at most this many for each SM are
  // launched.
  std::int64_t resident_blocks_per_sm = 0;
  // Rows of tiles that neighbouring blocks work on at a time: an argument of kernels that leave the
  // order of tiles to the launch.
  std::int64_t raster = 1;
  // The kernel itself waits for the previous launch on its stream, so devices that are able to
  // prepare its launch meanwhile.
  bool waits_for_launch_before = false;
  // For each tensor, in the operation's order, the rows and columns that one instruction copies of
  // it. Not 0: the kernel, compiled for aligned tensors, needs a tensor map of it.
  using Box = std::array<std::int64_t, 2>;
  static constexpr std::size_t kMaxTensors = 8;
  std::array<Box, kMaxTensors> tensor_boxes = {};

  [[nodiscard]] std::int64_t threads() const { return block[0] * block[1] * block[2]; }
  [[nodiscard]] std::int64_t blocks() const { return grid[0] * grid[1] * grid[2]; }

  [[nodiscard]] std::int64_t workspace_bytes() const {
    const std::int64_t bytes = blocks() * workspace_bytes_per_block;
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
      result.grid[0] = std::min(grid[0], resident_blocks_per_sm * sm_count);
    }
    return result;
  }

  bool operator==(const LaunchGeometry&) const = default;
};

}  // namespace autotune
