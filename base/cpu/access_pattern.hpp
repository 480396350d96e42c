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

// Returns, for global memory, the number of 32-byte sectors that are touched; for shared memory,
// the number of wavefronts, which are the passes that 32 banks of 4 bytes need. A pass serves a
// whole warp at 4 bytes per lane, half a warp at 8 and a quarter at 16. It serves twice as many
// lanes if each lane accesses the same address as its neighbour, or as the lane two places further.
// Lanes that access the same word share it; each further word of the same bank takes another pass.
// The rule agrees with the counters of an H200 for 31 patterns of each width (benchmarks/results).
[[nodiscard]] std::int64_t transactions(const WarpAccess& access);
// Returns the least number that the same number of different words would take if they were placed
// best.
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
