// Runs a kernel's text as C++ on the fibers of the CPU device's block runner: its arithmetic and
// its accesses are tested without a GPU, and under the address sanitizer, for which a stray load is
// an error.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>

#include "core/launch_geometry.hpp"
#include "cpu/block_runner.hpp"

// The names below are CUDA's.
#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
// The compiler's own would believe it.
#define __builtin_assume_aligned(pointer, bytes) cuda_on_cpu::checked_aligned(pointer, bytes)

namespace cuda_on_cpu {

inline autotune_block_state state;
inline autotune_index& threadIdx = state.thread;
inline autotune_index& blockIdx = state.block;
inline autotune_index& gridDim = state.grid_dim;

// Runs all blocks, one after the other.
inline void launch(const autotune::LaunchGeometry& geometry, const std::function<void()>& kernel) {
  autotune::BlockRunner runner;
  const void* argument = &kernel;
  const autotune::KernelEntry entry{
      .call = [](void** arguments) { (*static_cast<const std::function<void()>*>(*arguments))(); },
      .state = &state};
  for (std::size_t block = 0; block < static_cast<std::size_t>(geometry.blocks()); ++block) {
    const auto fault = runner.run(entry, const_cast<void**>(&argument), geometry, block);
    if (fault) throw std::logic_error(*fault);
  }
}

inline void __syncthreads() {
  state.barrier(state.runner, 0);
}

// Vector accesses at addresses that a GPU would refuse.
inline std::atomic<int> misaligned_accesses = 0;

template <typename Void>
Void* checked_aligned(Void* pointer, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % bytes != 0) ++misaligned_accesses;
  return pointer;
}

}  // namespace cuda_on_cpu
