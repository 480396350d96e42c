#include "core/occupancy.hpp"

#include <algorithm>
#include <array>

namespace autotune {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kWarp = 32;
// Registers are allocated to warps in units of 256, separately in each of the four parts of an SM.
// Shared memory is allocated to blocks in units of 128 bytes (256 before sm_80, where no kernel of
// this program comes near the difference).
constexpr std::int64_t kRegisterUnit = 256;
constexpr std::int64_t kPartitions = 4;
constexpr std::int64_t kSharedUnit = 128;

constexpr std::int64_t kRegisters = 64 * kKiB;

struct Architecture {
  const char* name;
  std::int64_t threads;
  std::int64_t blocks;
  std::int64_t shared_kib;
  std::int64_t shared_per_block_kib;
  std::int64_t reserved;
};

constexpr std::array kArchitectures = {
    Architecture{"sm_50", 2048, 32, 64, 48, 0},
    Architecture{"sm_52", 2048, 32, 96, 48, 0},
    Architecture{"sm_60", 2048, 32, 64, 48, 0},
    Architecture{"sm_61", 2048, 32, 96, 48, 0},
    Architecture{"sm_70", 2048, 32, 96, 96, 0},
    Architecture{"sm_75", 1024, 16, 64, 64, 0},
    Architecture{"sm_80", 2048, 32, 164, 163, kKiB},
    Architecture{"sm_86", 1536, 16, 100, 99, kKiB},
    Architecture{"sm_87", 1536, 16, 164, 163, kKiB},
    Architecture{"sm_89", 1536, 24, 100, 99, kKiB},
    Architecture{"sm_90", 2048, 32, 228, 227, kKiB},
    Architecture{"sm_100", 2048, 32, 228, 227, kKiB},
    Architecture{"sm_103", 2048, 32, 228, 227, kKiB},
    Architecture{"sm_110", 1536, 24, 228, 227, kKiB},
    Architecture{"sm_120", 1536, 24, 100, 99, kKiB},
    Architecture{"sm_121", 1536, 24, 100, 99, kKiB},
};

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::int64_t blocks_by_registers(std::int64_t registers_per_thread, std::int64_t warps,
                                 std::int64_t registers_per_sm) {
  const std::int64_t per_warp =
      round_up(std::max<std::int64_t>(registers_per_thread, 1) * kWarp, kRegisterUnit);
  const std::int64_t warps_per_partition = registers_per_sm / kPartitions / per_warp;
  return warps_per_partition * kPartitions / warps;
}

}  // namespace

std::optional<SmLimits> sm_limits(const std::string& architecture) {
  for (const Architecture& known : kArchitectures) {
    if (architecture != known.name) continue;
    return SmLimits{.threads_per_sm = known.threads,
                    .blocks_per_sm = known.blocks,
                    .registers_per_sm = kRegisters,
                    .shared_per_sm = known.shared_kib * kKiB,
                    .shared_per_block = known.shared_per_block_kib * kKiB,
                    .shared_reserved_per_block = known.reserved};
  }
  return std::nullopt;
}

std::vector<std::string> known_architectures() {
  std::vector<std::string> names;
  for (const Architecture& known : kArchitectures) names.emplace_back(known.name);
  return names;
}

Occupancy occupancy(const BlockResources& block, const SmLimits& sm) {
  const std::int64_t warps = round_up(block.threads, kWarp) / kWarp;
  const std::int64_t shared =
      round_up(block.shared_bytes + sm.shared_reserved_per_block, kSharedUnit);

  Occupancy result;
  if (sm.threads_per_sm > 0) result.by_threads = sm.threads_per_sm / (warps * kWarp);
  // A block that takes no shared memory is not limited by it.
  if (sm.shared_per_sm > 0 && shared > 0) result.by_shared = sm.shared_per_sm / shared;
  if (sm.registers_per_sm > 0 && block.registers_per_thread) {
    result.by_registers =
        blocks_by_registers(*block.registers_per_thread, warps, sm.registers_per_sm);
  }
  if (sm.blocks_per_sm > 0) result.by_blocks = sm.blocks_per_sm;

  const auto consider = [&](std::optional<std::int64_t> blocks, const char* limit) {
    if (!blocks || (result.blocks_per_sm && *result.blocks_per_sm <= *blocks)) return;
    result.blocks_per_sm = blocks;
    result.limited_by = limit;
  };
  consider(result.by_threads, "threads_per_sm");
  consider(result.by_shared, "shared_per_sm");
  consider(result.by_registers, "registers_per_sm");
  consider(result.by_blocks, "blocks_per_sm");
  const auto beyond = [](std::int64_t taken, std::int64_t limit) {
    return limit > 0 && taken > limit;
  };
  if (beyond(block.threads, sm.threads_per_block)) {
    result.blocks_per_sm = 0;
    result.limited_by = "threads_per_block";
  } else if (beyond(block.shared_bytes, sm.shared_per_block)) {
    result.blocks_per_sm = 0;
    result.limited_by = "shared_per_block";
  }
  return result;
}

}  // namespace autotune
