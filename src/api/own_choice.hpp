// The configuration that a kernel of the application's own runs with: by stored results, or from a
// bundle.
#pragma once

#include <string>
#include <vector>

#include "autotune/kernel.hpp"

#include "api/bundled_kernels.hpp"
#include "api/log.hpp"
#include "api/result_source.hpp"
#include "core/device_info.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "select/lookup.hpp"

namespace autotune {

struct OwnChoice {
  KernelConfiguration choice;
  std::string compiler_build = {};  // that it was measured with; empty when it was not

  // Returns whether it was measured for the sizes that were asked for.
  [[nodiscard]] bool is_measured() const;
};

[[nodiscard]] KernelSizes sizes_of(const Problem& problem);

[[nodiscard]] bool can_run(const KernelTemplate& kernel, const Configuration& configuration,
                           const Problem& problem, const DeviceInfo& device);

// The best of the results that `query` names, of those that can run on the device, else the file's
// default. Results that cannot be read are left out, with a warning.
[[nodiscard]] OwnChoice stored_choice(const KernelTemplate& kernel, const DeviceInfo& device,
                                      const DeviceQuery& query, const Problem& problem,
                                      const ResultSource& results, const Log& log);

// A kernel as a bundle has it. Immutable, so thread-safe.
class BundledOwnKernel {
 public:
  // Both outlive this. Throws EnvironmentError, which names the file, for a bundle that has no such
  // kernel, or one of another text.
  BundledOwnKernel(const BundledKernels& kernels, const KernelTemplate& kernel);

  // The choice for a problem if the bundle has one, else that of the nearest problem, among those
  // that can run and whose code the bundle has. Throws EnvironmentError where there is none, and
  // where the bundle is for another device.
  [[nodiscard]] OwnChoice choose(const DeviceInfo& device, const Problem& problem) const;
  // The cubin of a choice. Throws as BundledKernels::image.
  [[nodiscard]] std::string image(const Configuration& configuration, const Problem& problem) const;

 private:
  [[nodiscard]] std::string key(const Configuration& configuration, const Problem& problem) const;
  // Returns whether a choice and its code are of the kernel as it is now.
  [[nodiscard]] bool is_current(const BundledChoice& choice) const;

  const BundledKernels& kernels_;
  const KernelTemplate& kernel_;
  std::vector<const BundledChoice*> choices_;
};

}  // namespace autotune
