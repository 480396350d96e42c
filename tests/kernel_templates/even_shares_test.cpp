// The division of k_tiles among clusters that device/even_shares.cuh makes, run on the CPU.
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "cuda_on_cpu.hpp"

namespace {

using cuda_on_cpu::__syncthreads;
using cuda_on_cpu::blockIdx;
using cuda_on_cpu::gridDim;
using cuda_on_cpu::threadIdx;

#define CLUSTER 2
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wconversion"
#include "kernel_templates/device/even_shares.cuh"
#pragma GCC diagnostic pop

using autotune_device::TileScheduler;
using autotune_device::WorkPartition;
using autotune_device::WorkTile;

WorkPartition partition(unsigned clusters, unsigned tiles, unsigned k_tiles) {
  gridDim.x = CLUSTER * clusters;
  return WorkPartition(tiles, k_tiles);
}

// Returns how often the clusters compute each k_tile of each tile, one tile behind the other.
std::vector<int> visits(const WorkPartition& work, unsigned tiles) {
  std::vector<int> result(static_cast<std::size_t>(tiles) * work.k_tiles);
  for (unsigned cluster = 0; cluster < work.clusters; ++cluster) {
    blockIdx.x = CLUSTER * cluster;
    TileScheduler scheduler(work);
    WorkTile part = {};
    while (scheduler.next(part)) {
      for (unsigned k_tile = part.begin; k_tile < part.end; ++k_tile) {
        ++result.at(static_cast<std::size_t>(part.tile) * work.k_tiles + k_tile);
      }
    }
  }
  return result;
}

TEST_SUITE("even shares") {
  TEST_CASE("clusters compute each k_tile of each tile once") {
    for (const unsigned clusters : {1U, 2U, 7U, 16U, 66U}) {
      for (const unsigned tiles : {1U, 2U, 15U, 16U, 24U, 30U, 67U, 131U, 200U}) {
        for (const unsigned k_tiles : {1U, 2U, 5U, 6U, 33U}) {
          CAPTURE(std::tuple(clusters, tiles, k_tiles));
          // A launch has no more clusters than there are k_tiles.
          if (clusters > tiles * k_tiles) continue;
          const WorkPartition work = partition(clusters, tiles, k_tiles);
          CHECK(visits(work, tiles) ==
                std::vector<int>(static_cast<std::size_t>(tiles) * k_tiles, 1));
        }
      }
    }
  }

  TEST_CASE("the cluster of a shared k_tile is the one whose share has it") {
    const WorkPartition work = partition(16, 24, 7);
    REQUIRE(work.whole == 16);
    for (unsigned k_tile = 0; k_tile < 8 * 7; ++k_tile) {
      const unsigned cluster = work.cluster_of(k_tile);
      CHECK(work.begin(cluster) <= k_tile);
      CHECK(k_tile < work.begin(cluster + 1));
    }
  }

  TEST_CASE("the last of several rounds is shared where that saves three k_tiles") {
    CHECK(partition(16, 24, 6).whole == 16);  // 8 of 16 clusters would be idle for 6 k_tiles
    CHECK(partition(16, 24, 5).whole == 24);
    CHECK(partition(16, 17, 4).whole == 16);
    CHECK(partition(16, 17, 3).whole == 17);
    CHECK(partition(132, 66, 1).whole == 0);  // one round alone is always shared
    // Not where more than 7 of 8 clusters are busy in it.
    CHECK(partition(16, 16 + 14, 1000).whole == 16);
    CHECK(partition(16, 16 + 15, 1000).whole == 16 + 15);
    CHECK(partition(16, 32, 1000).whole == 32);
  }

  TEST_CASE("the idle k_tiles of a round may be more than 32 bits count") {
    CHECK(partition(132, 133, 1U << 26).whole == 132);
  }
}

}  // namespace
