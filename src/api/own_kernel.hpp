// The inside of a Kernel, which its plans share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autotune/kernel.hpp"

#include "api/core.hpp"
#include "api/kernel_launcher.hpp"
#include "own_kernels/described_kernel.hpp"
#include "select/portfolio.hpp"

namespace autotune {

// A kernel that is chosen and loaded for some sizes. Immutable, and thread-safe.
struct PlannedLaunch {
  OwnKernels kernels;
  KernelConfiguration choice;
  std::vector<std::int64_t> numbers;  // the values of the arguments that are whole numbers
  std::shared_ptr<const LoadedLaunch> loaded;
  std::uint32_t forks = fork_count();

  // As KernelPlan::operator().
  void run(Stream stream, const LaunchArgument* arguments, std::size_t count) const;
};

// Thread-safe.
class OwnKernel {
 public:
  // Throws UsageError for a Library with a bundle.
  OwnKernel(std::shared_ptr<Core> core, OwnKernels kernels);

  [[nodiscard]] const DescribedKernel& described() const { return kernels_.described(); }
  [[nodiscard]] const KernelTemplate& kernel() const { return kernels_.kernel(); }

  // As the functions of Kernel.
  KernelTuningResult tune(const std::vector<KernelSizes>& problems, const TuningOptions& options);
  [[nodiscard]] KernelConfiguration query(const KernelSizes& sizes) const;
  [[nodiscard]] std::shared_ptr<const PlannedLaunch> plan(const KernelSizes& sizes,
                                                          std::optional<Stream> stream);
  [[nodiscard]] std::vector<ArgumentDescription> arguments(const KernelSizes& sizes) const;
  // Throws UsageError where a size is no argument.
  [[nodiscard]] KernelSizes sizes_among(const LaunchArgument* arguments, std::size_t count) const;
  void launch(const KernelSizes& sizes, Stream stream, const LaunchArgument* arguments,
              std::size_t count);

 private:
  struct Chosen {
    KernelConfiguration choice;
    std::string compiler_build;  // that it was measured with; empty when it was not
  };
  [[nodiscard]] Problem problem_of(const KernelSizes& sizes) const;
  [[nodiscard]] Chosen choose(const Problem& problem) const;
  [[nodiscard]] KernelLauncher& launcher();

  std::shared_ptr<Core> core_;
  OwnKernels kernels_;
  ShippedPortfolios portfolios_;              // none, of these kernels
  std::mutex mutex_;                          // of what follows
  std::unique_ptr<KernelLauncher> launcher_;  // made with the first plan
  // By the context and the sizes.
  std::map<std::pair<std::uint64_t, KernelSizes>, std::shared_ptr<const PlannedLaunch>> plans_;
  std::uint64_t searches_ = 0;  // that have ended: a plan from before one is not kept
};

}  // namespace autotune
