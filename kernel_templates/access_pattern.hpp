// Predicts from addresses how a warp's accesses use memory: sectors of global memory, passes over
// the banks of shared memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace autotune {

enum class MemorySpace { global, shared };

// One instruction of one warp.
struct WarpAccess {
  std::string name;  // "load A", for people; several instructions may share a name
  MemorySpace space = MemorySpace::global;
  std::int64_t bytes_per_lane = 4;    // 4, 8 or 16
  std::vector<std::int64_t> offsets;  // bytes, of the active lanes in their order
};

// Global memory: the 32-byte sectors that are touched. Shared memory: wavefronts, the passes that
// 32 banks of 4 bytes need. A pass serves a warp at 4 bytes a lane, half of one at 8, a quarter at
// 16, and twice as many lanes where each wants the same as its neighbour, or as the lane two
// further; lanes that want the same word share it, and further words of a bank take a pass each.
// The rule gives what an H200 counted for 31 patterns of each width (benchmarks/results).
[[nodiscard]] std::int64_t transactions(const WarpAccess& access);
// The fewest that as many different words could take, were they only placed better.
[[nodiscard]] std::int64_t least_transactions(const WarpAccess& access);

// All accesses of one name.
struct AccessSummary {
  std::string name;
  MemorySpace space = MemorySpace::global;
  std::int64_t bytes_per_lane = 0;
  double transactions = 0;  // of one access, on average
  double least = 0;
};
// One summary for each name and width, in order of their first access.
[[nodiscard]] std::vector<AccessSummary> summarize(const std::vector<WarpAccess>& accesses);

}  // namespace autotune
