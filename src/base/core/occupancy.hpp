// The number of blocks of a kernel that an SM holds at once, and what limits it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace autotune {

// The resources of one SM of an architecture; 0 where they are unknown. Sources: the compute
// capability tables of the CUDA C++ Programming Guide.
struct SmLimits {
  std::int64_t threads_per_sm = 0;
  std::int64_t blocks_per_sm = 0;
  std::int64_t registers_per_sm = 0;
  std::int64_t shared_per_sm = 0;              // bytes
  std::int64_t shared_per_block = 0;           // bytes, at most, opted in to
  std::int64_t shared_reserved_per_block = 0;  // bytes that the hardware takes for itself
  std::int64_t threads_per_block = 1024;
};

// The limits of "sm_90" and the like; nullopt for others.
[[nodiscard]] std::optional<SmLimits> sm_limits(const std::string& architecture);
// "sm_50", ..., "sm_121": what sm_limits() knows.
[[nodiscard]] std::vector<std::string> known_architectures();

// The resources that one block takes. Registers may be unknown.
struct BlockResources {
  std::int64_t threads = 1;
  std::int64_t shared_bytes = 0;  // static and dynamic, without the hardware's share
  std::optional<std::int64_t> registers_per_thread;
};

// Blocks on an SM as each limit that is known would have it alone, and the least of them. 0 blocks:
// the kernel cannot be launched.
struct Occupancy {
  std::optional<std::int64_t> by_threads;
  std::optional<std::int64_t> by_blocks;
  std::optional<std::int64_t> by_shared;
  std::optional<std::int64_t> by_registers;
  std::optional<std::int64_t> blocks_per_sm;  // empty where no limit is known
  std::string limited_by;  // the member of SmLimits that sets it, by its name; else empty
};

[[nodiscard]] Occupancy occupancy(const BlockResources& block, const SmLimits& sm);

}  // namespace autotune
