#include "cpu/launcher.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "autotune/error.hpp"

namespace autotune {

CpuKernel::CpuKernel(const std::string& image, const std::string& name, std::size_t copies) {
  for (std::size_t i = 0; i < copies; ++i) copies_.emplace_back(image, name);
}

CpuLauncher::CpuLauncher(std::size_t threads)
    : pool_(threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency())),
      runners_(pool_.size()) {}

std::optional<std::string> CpuLauncher::launch(const CpuKernel& kernel, void** arguments,
                                               const LaunchGeometry& geometry,
                                               std::span<const std::int64_t> blocks) {
  constexpr std::int64_t kMaxThreads = BlockRunner::kMaxThreads;
  if (geometry.threads() < 1 || geometry.threads() > kMaxThreads) {
    throw Error(fmt::format("a block of {} threads cannot be launched: 1 to {} can",
                            geometry.threads(), kMaxThreads));
  }
  if (geometry.dynamic_shared_bytes > kMaxSharedBytes) {
    throw Error(fmt::format("a block with {} bytes of shared memory cannot be launched: {} can",
                            geometry.dynamic_shared_bytes, kMaxSharedBytes));
  }
  std::mutex mutex;
  std::optional<std::string> first;
  pool_.for_each(blocks.size(), [&](std::size_t item, std::size_t thread) {
    const std::int64_t block = blocks[item];
    const std::optional<std::string> fault = runners_[thread].run(
        kernel.copies_[thread].entry(), arguments, geometry, static_cast<std::size_t>(block));
    if (!fault) return;
    const std::lock_guard lock(mutex);
    if (!first) first = fmt::format("block {}: {}", block, *fault);
  });
  return first;
}

}  // namespace autotune
