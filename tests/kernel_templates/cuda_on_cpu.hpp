// Runs a kernel's text as C++, one CPU thread a CUDA thread: enough for barriers, shared memory
// and thread indices, so that its arithmetic and its accesses are tested without a GPU (under the
// sanitizers too, for which a missing barrier is a race and a stray load an error).
#pragma once

#include <atomic>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "core/launch_geometry.hpp"

// The names below are CUDA's.
#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
// The compiler's own would believe it.
#define __builtin_assume_aligned(pointer, bytes) cuda_on_cpu::checked_aligned(pointer, bytes)

namespace cuda_on_cpu {

struct Index {
  unsigned x, y, z;
};

inline thread_local Index threadIdx;
inline thread_local Index blockIdx;
inline Index gridDim;
inline thread_local std::barrier<>* block_barrier;

inline void __syncthreads() {
  block_barrier->arrive_and_wait();
}

// Vector accesses at addresses that a GPU would refuse.
inline std::atomic<int> misaligned_accesses = 0;

template <typename Void>
Void* checked_aligned(Void* pointer, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % bytes != 0) ++misaligned_accesses;
  return pointer;
}

// Runs all blocks, one after the other. The grid must be one-dimensional.
inline void launch(const autotune::LaunchGeometry& geometry, const std::function<void()>& kernel) {
  std::barrier<> barrier(geometry.threads());
  gridDim = {static_cast<unsigned>(geometry.grid[0]), 1, 1};
  const auto run_thread = [&](unsigned x, unsigned y) {
    block_barrier = &barrier;
    threadIdx = {x, y, 0};
    for (unsigned block = 0; block < geometry.grid[0]; ++block) {
      blockIdx = {block, 0, 0};
      kernel();
      barrier.arrive_and_wait();
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned y = 0; y < geometry.block[1]; ++y) {
    for (unsigned x = 0; x < geometry.block[0]; ++x) threads.emplace_back(run_thread, x, y);
  }
}

}  // namespace cuda_on_cpu
