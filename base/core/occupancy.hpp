// The number of blocks of a kernel that an SM holds at once, and what limits it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace autotune {

// The resources of one SM; 0 where they are unknown.
struct SmLimits {
  std::int64_t threads_per_sm = 0;
  std::int64_t blocks_per_sm = 0;
  std::int64_t registers_per_sm = 0;
  std::int64_t shared_per_sm = 0;              // bytes
  std::int64_t shared_per_block = 0;           // bytes, at most, after opting in
  std::int64_t shared_reserved_per_block = 0;  // bytes that the hardware takes for itself
  std::int64_t threads_per_block = 1024;
};

// Returns the limits of an architecture such as "sm_90", for devices that this machine lacks
// (DeviceInfo has the limits of its own); nullopt for an unknown architecture. Source: the compute
// capability tables of the CUDA C++ Programming Guide.
[[nodiscard]] std::optional<SmLimits> sm_limits(const std::string& architecture);
// Returns "sm_50", ..., "sm_121": the architectures that sm_limits() knows.
[[nodiscard]] std::vector<std::string> known_architectures();

// The resources that one block takes. Registers may be unknown.
struct BlockResources {
  std::int64_t threads = 1;
  std::int64_t shared_bytes = 0;  // static and dynamic, without the hardware's share
  std::optional<std::int64_t> registers_per_thread;
};

// The number of blocks that each known limit alone would allow on an SM, and the least of these
// numbers. If it is 0, the kernel cannot be launched.
struct Occupancy {
  std::optional<std::int64_t> by_threads;
  std::optional<std::int64_t> by_blocks;
  std::optional<std::int64_t> by_shared;
  std::optional<std::int64_t> by_registers;
  std::optional<std::int64_t> blocks_per_sm;  // empty where no limit is known
  std::string limited_by;  // the name of the SmLimits member that sets it; else empty
};

[[nodiscard]] Occupancy occupancy(const BlockResources& block, const SmLimits& sm);

}  // namespace autotune
