// Occupancy against figures of the source documents and of the CUDA occupancy calculator.
#include "core/occupancy.hpp"

#include <doctest/doctest.h>

namespace autotune {
namespace {

TEST_SUITE("occupancy") {
  TEST_CASE("tiles of 16 in 16 KiB of shared memory give 8 blocks") {
    SmLimits sm = *sm_limits("sm_90");
    sm.shared_per_sm = 16384;
    sm.shared_reserved_per_block = 0;  // the documents' GPU reserves nothing
    const Occupancy result = occupancy({.threads = 256, .shared_bytes = 2048}, sm);
    CHECK(result.blocks_per_sm == 8);
    CHECK(result.by_shared == 8);
  }

  TEST_CASE("tiles of 32 are limited to 2 by shared memory and to 1 by 1536 threads") {
    SmLimits sm = *sm_limits("sm_90");
    sm.shared_per_sm = 16384;
    sm.shared_reserved_per_block = 0;
    CHECK(occupancy({.threads = 1024, .shared_bytes = 8192}, sm).blocks_per_sm == 2);
    sm.threads_per_sm = 1536;
    const Occupancy result = occupancy({.threads = 1024, .shared_bytes = 8192}, sm);
    CHECK(result.blocks_per_sm == 1);
    CHECK(result.limited_by == "threads_per_sm");
  }

  TEST_CASE("registers go out in units of 256 a warp to each of four partitions") {
    const SmLimits sm = *sm_limits("sm_90");
    // 255 registers: 8160 a warp, 8192 rounded; two warps in each partition's 16384.
    const Occupancy result = occupancy({.threads = 256, .registers_per_thread = 255}, sm);
    CHECK(result.by_registers == 1);
    CHECK(result.limited_by == "registers_per_sm");
    // 40 registers: 1280 a warp, 12 warps a partition, 48 in all, 6 blocks of 8.
    CHECK(occupancy({.threads = 256, .registers_per_thread = 40}, sm).by_registers == 6);
    // 96 threads are 3 warps; 48 warps make 16 blocks.
    CHECK(occupancy({.threads = 96, .registers_per_thread = 40}, sm).by_registers == 16);
  }

  TEST_CASE("what the hardware reserves counts") {
    const SmLimits sm = *sm_limits("sm_90");
    CHECK(occupancy({.threads = 32, .shared_bytes = 227 * 1024}, sm).blocks_per_sm == 1);
    CHECK(occupancy({.threads = 32, .shared_bytes = 113 * 1024}, sm).blocks_per_sm == 2);
    CHECK(occupancy({.threads = 32, .shared_bytes = 114 * 1024}, sm).blocks_per_sm == 1);
  }

  TEST_CASE("a block that is too large cannot be launched") {
    const SmLimits sm = *sm_limits("sm_90");
    const Occupancy threads = occupancy({.threads = 1056}, sm);
    CHECK(threads.blocks_per_sm == 0);
    CHECK(threads.limited_by == "threads_per_block");
    const Occupancy shared = occupancy({.threads = 32, .shared_bytes = 228 * 1024}, sm);
    CHECK(shared.blocks_per_sm == 0);
    CHECK(shared.limited_by == "shared_per_block");
  }

  TEST_CASE("a limit that is not known does not count") {
    const Occupancy nothing = occupancy({.threads = 256, .shared_bytes = 2048}, {});
    CHECK_FALSE(nothing.blocks_per_sm.has_value());
    CHECK(nothing.limited_by == "");
    const SmLimits shared_alone{.shared_per_sm = 16384};
    const Occupancy result = occupancy({.threads = 256, .shared_bytes = 2048}, shared_alone);
    CHECK(result.blocks_per_sm == 8);
    CHECK_FALSE(result.by_threads.has_value());
    CHECK(result.limited_by == "shared_per_sm");
  }

  TEST_CASE("small blocks are limited by their number") {
    const Occupancy result = occupancy({.threads = 32}, *sm_limits("sm_90"));
    CHECK(result.blocks_per_sm == 32);
    CHECK(result.limited_by == "blocks_per_sm");
  }

  TEST_CASE("architectures nobody knows have no limits") {
    CHECK_FALSE(sm_limits("sm_35").has_value());
    CHECK_FALSE(sm_limits("host").has_value());
    CHECK(known_architectures().front() == "sm_50");
    CHECK(known_architectures().back() == "sm_121");
  }
}

}  // namespace
}  // namespace autotune
