// How a kernel is launched for one problem.
#pragma once

#include <array>
#include <cstdint>

namespace autotune {

struct LaunchGeometry {
  std::array<std::int64_t, 3> grid = {1, 1, 1};   // blocks
  std::array<std::int64_t, 3> block = {1, 1, 1};  // threads
  std::int64_t dynamic_shared_bytes = 0;

  [[nodiscard]] std::int64_t threads() const { return block[0] * block[1] * block[2]; }
  [[nodiscard]] std::int64_t blocks() const { return grid[0] * grid[1] * grid[2]; }

  bool operator==(const LaunchGeometry&) const = default;
};

}  // namespace autotune
