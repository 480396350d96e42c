// The inside of a Kernel.
#pragma once

#include <atomic>
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
#include "api/fork_count.hpp"
#include "api/kernel_cache.hpp"
#include "api/kernel_images.hpp"
#include "api/kernel_launcher.hpp"
#include "api/own_choice.hpp"
#include "core/kernel_signature.hpp"
#include "own_kernels/described_kernel.hpp"
#include "select/portfolio.hpp"

namespace autotune {

// A kernel that is chosen and loaded for some sizes. Immutable, and thread-safe.
struct PlannedLaunch {
  OwnKernels kernels;
  KernelConfiguration choice;
  std::vector<std::int64_t> numbers;  // the values of the arguments that are whole numbers
  LaunchGeometry geometry;
  ArgumentLayout layout;
  std::shared_ptr<const KernelCode> code;
  std::uint32_t forks = fork_count();

  // As KernelPlan::operator().
  void run(Stream stream, const LaunchArgument* arguments, std::size_t count) const;
};

// Thread-safe.
class OwnKernel {
 public:
  // Throws as BundledOwnKernel does for a Library with a bundle.
  OwnKernel(std::shared_ptr<Core> core, OwnKernels kernels);

  [[nodiscard]] const DescribedKernel& described() const { return kernels_.described(); }
  [[nodiscard]] const KernelTemplate& kernel() const { return kernels_.kernel(); }

  // As the functions of Kernel.
  KernelTuningResult tune(const std::vector<KernelSizes>& problems, const TuningOptions& options);
  [[nodiscard]] KernelConfiguration query(const KernelSizes& sizes) const;
  [[nodiscard]] std::shared_ptr<const PlannedLaunch> plan(const KernelSizes& sizes);
  [[nodiscard]] std::vector<ArgumentDescription> arguments(const KernelSizes& sizes) const;
  // Throws UsageError where a size is no argument.
  [[nodiscard]] KernelSizes sizes_among(const LaunchArgument* arguments, std::size_t count) const;
  void launch(const KernelSizes& sizes, Stream stream, const LaunchArgument* arguments,
              std::size_t count);

 private:
  using PlanKey = std::pair<std::uint64_t, KernelSizes>;  // the context first

  [[nodiscard]] const DeviceInfo& device() const { return core_->backend().selector().device(); }
  [[nodiscard]] Problem problem_of(const KernelSizes& sizes) const;
  [[nodiscard]] OwnChoice choose(const Problem& problem) const;
  // The choice for a call, after a search where the policy has it so.
  [[nodiscard]] OwnChoice choose_for_call(const KernelSizes& sizes, const Problem& problem);
  [[nodiscard]] std::shared_ptr<const KernelCode> code_of(const OwnChoice& chosen,
                                                          const Problem& problem);
  [[nodiscard]] KernelImages& images();
  // Drops the plans from before the last search, of this Kernel or of another one of its name.
  // `mutex_` is held.
  void drop_old_plans();

  std::shared_ptr<Core> core_;
  OwnKernels kernels_;
  ShippedPortfolios portfolios_;             // none, of these kernels
  std::optional<BundledOwnKernel> bundled_;  // of a Library with a bundle
  // Work under way and graphs use it, so it stays loaded. Plans share it.
  std::shared_ptr<KernelCache<KernelCode>> code_ = std::make_shared<KernelCache<KernelCode>>();
  const KernelLauncher& launcher_;              // of core_
  std::atomic<std::uint64_t>& ended_searches_;  // in this process, for kernels of this name
  std::mutex mutex_;                            // of what follows
  std::map<std::string, std::unique_ptr<KernelImages>> images_;  // by the device's class
  std::map<PlanKey, std::shared_ptr<const PlannedLaunch>> plans_;
  std::map<KernelSizes, std::string> without_winner_;  // that were searched for a call, and why
  std::uint64_t searches_ = 0;                         // that had ended when these were made
};

}  // namespace autotune
