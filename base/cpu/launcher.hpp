// Launches kernels on the CPU device: spreads blocks over the machine's cores. One caller at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>

#include "core/thread_pool.hpp"
#include "cpu/block_runner.hpp"

namespace autotune {

class CpuLauncher;

// A compiled kernel, ready to be launched by one launcher.
class CpuKernel {
 public:
  // Throws as LoadedKernel does. `copies` is the largest number of threads that will run it.
  CpuKernel(const std::string& image, const std::string& name, std::size_t copies);

 private:
  friend class CpuLauncher;
  std::deque<LoadedKernel> copies_;  // one for each thread
};

class CpuLauncher {
 public:
  // The shared memory that a block may have, as on a large GPU.
  static constexpr std::int64_t kMaxSharedBytes = 227 * 1024;

  // 0 threads means one for each core.
  explicit CpuLauncher(std::size_t threads = 0);

  [[nodiscard]] ThreadPool& pool() { return pool_; }
  [[nodiscard]] CpuKernel load(const std::string& image, const std::string& name) {
    return CpuKernel(image, name, pool_.size());
  }

  // Runs the given blocks of the grid and waits for them. `arguments` has a pointer to each of the
  // kernel's arguments. Returns the fault of the first block that is found faulty (see
  // BlockRunner); the other blocks still run. Throws Error for a block of too many threads, or with
  // too much shared memory.
  std::optional<std::string> launch(const CpuKernel& kernel, void** arguments,
                                    const LaunchGeometry& geometry,
                                    std::span<const std::int64_t> blocks);

 private:
  ThreadPool pool_;
  std::deque<BlockRunner> runners_;  // one for each thread
};

}  // namespace autotune
