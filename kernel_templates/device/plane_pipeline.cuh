// The copies of planes (device/planes.cuh) to a ring of buffers in shared memory, and the
// tile of a block: BLOCK_N columns, and 64 rows for each of WARPGROUPS groups of four consumer
// warps. There are 128 threads more, of which one copies. CLUSTER blocks side by side along M share
// the copies of B; or the CLUSTER_K blocks of a cluster split K of one tile. MIN_BLOCKS blocks
// share the memory and registers of an SM.
#pragma once

#include "barrier.cuh"
#include "cluster_k.cuh"
#include "planes.cuh"

#ifdef __CUDACC__

namespace autotune_device {

constexpr int kTileM = 64 * WARPGROUPS;
constexpr int kTileN = BLOCK_N;
constexpr int kConsumers = 128 * WARPGROUPS;  // threads
constexpr int kThreads = kConsumers + 128;
constexpr int kRowBytes = 2 * kPlaneK;
constexpr int kPieceA = kTileM * kRowBytes;
constexpr int kPieceB = kTileN * kRowBytes;
constexpr int kStage = kPieceA + kPieceB;   // one plane of both operands
constexpr int kExchange = 80 * kConsumers;  // bytes behind the buffers, for the epilogue
constexpr int kStages = ((227 / MIN_BLOCKS - 1) * 1024 - kExchange) / kStage;
constexpr int kSums = kTileN / 2;  // of a thread
constexpr int kFirstRegisters = 65536 / (MIN_BLOCKS * kThreads) / 8 * 8;
constexpr int kCopyRegisters = WARPGROUPS * MIN_BLOCKS == 1 ? 120 : 40;
constexpr int kFreeRegisters = (kFirstRegisters * kThreads - kCopyRegisters * 128) / kConsumers;
constexpr int kRegisters = kFreeRegisters < 240 ? kFreeRegisters / 8 * 8 : 240;

// Starts to copy contiguous bytes to shared memory, in all blocks of the cluster if kToAll.
template <bool kToAll>
__device__ __forceinline__ void bulk_load(unsigned to, const void* from, int bytes,
                                          Barrier* barrier) {
  if (kToAll) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1], %2, [%3], %4;" ::"r"(to),
        "l"(from), "r"(bytes), "r"(shared_address(barrier)),
        "h"(static_cast<unsigned short>((1 << CLUSTER) - 1))
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(to),
        "l"(from), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
  }
}

// The buffer that is filled or read next.
struct PipelineState {
  unsigned stage = 0, parity = 0;

  __device__ __forceinline__ void next() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// The buffers, each with one plane of a k_tile of A and behind it of B, and their barriers.
struct Pipeline {
  unsigned first;  // address in shared memory
  Barrier* full;   // of each buffer: the copies have arrived
  Barrier* empty;  // of each buffer: all consumer warps of the cluster have read it

  __device__ __forceinline__ unsigned a(unsigned stage) const { return first + stage * kStage; }
  __device__ __forceinline__ unsigned b(unsigned stage) const { return a(stage) + kPieceA; }

  // Initializes the barriers. One thread calls this before others use them.
  __device__ __forceinline__ void init() const {
    for (int i = 0; i < kStages; ++i) {
      init_barrier(full + i, 1);
      init_barrier(empty + i, CLUSTER * kConsumers / 32);
    }
    fence_barrier_init();
  }
  __device__ __forceinline__ void wait_full(const PipelineState& state) const {
    wait_parity(full + state.stage, state.parity);
  }
  __device__ __forceinline__ void wait_empty(const PipelineState& state) const {
    wait_parity(empty + state.stage, state.parity ^ 1);
  }
  // Releases a buffer that this warp has read. All lanes call this.
  __device__ __forceinline__ void release(unsigned stage) const {
    const unsigned lane = threadIdx.x % 32;
    if (lane >= CLUSTER) return;
#if CLUSTER > 1
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(
                     cluster_address(shared_address(empty + stage), lane))
                 : "memory");
#else
    arrive(empty + stage);
#endif
  }
};

// Copies the planes of all work tiles. One thread calls this.
__device__ __forceinline__ void producer_load(const Pipeline& pipeline, const Planes& a,
                                              const Planes& b, WorkTiles& work_tiles,
                                              const TileGrid& grid) {
  constexpr int kPartB = kPieceB / CLUSTER;  // that a block copies for its cluster
  const unsigned part_b = cluster_rank() * kPartB;
  PipelineState state;
  WorkTile work;
  while (work_tiles.next(work)) {
    int row, column;
    grid.place(work.tile, kTileM, kTileN, row, column);
    const unsigned short* from_a =
        a.high + work.begin * a.k_tile_elements() + static_cast<long long>(row) * kPlaneK;
    const unsigned short* from_b = b.high + work.begin * b.k_tile_elements() +
                                   static_cast<long long>(column) * kPlaneK + part_b / 2;
#pragma unroll 1
    for (unsigned left = work.end - work.begin; left > 0; --left) {
#pragma unroll
      for (int plane = 0; plane < kPlanes; ++plane) {
        Barrier* const full = pipeline.full + state.stage;
        pipeline.wait_empty(state);
        arrive_expect_tx(full, kStage);
        bulk_load<false>(pipeline.a(state.stage), from_a + plane * a.plane_elements(), kPieceA,
                         full);
        bulk_load<(CLUSTER > 1)>(pipeline.b(state.stage) + part_b,
                                 from_b + plane * b.plane_elements(), kPartB, full);
        state.next();
      }
      from_a += a.k_tile_elements();
      from_b += b.k_tile_elements();
    }
  }
  // The other block of a cluster may still be reading, and arrive at this block's barriers.
#pragma unroll 1
  for (int i = 0; CLUSTER > 1 && i < kStages; ++i) {
    pipeline.wait_empty(state);
    state.next();
  }
}

}  // namespace autotune_device

#endif
