// The kernels of a bundle, as a library chooses among them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/kernel_selector.hpp"
#include "export/bundle/bundle.hpp"

namespace autotune {

// The key of a kernel's code in a bundle. A library whose template or options differ from those of
// the library that wrote the bundle does not find it.
[[nodiscard]] std::string bundled_key(const KernelTemplate& kernel,
                                      const Configuration& configuration, const CodeTraits& traits,
                                      const std::string& architecture);

// Immutable, so thread-safe.
class BundledKernels {
 public:
  // Accepts a kernel for a problem as it is computed.
  using Serves =
      std::function<bool(const KernelTemplate&, const Configuration&, const GemmProblem&)>;

  // Throws StorageError as Bundle does.
  BundledKernels(const std::string& path, const KernelSet& kernels);

  [[nodiscard]] const Bundle& bundle() const { return bundle_; }

  // Returns whether the bundle was made for such a device.
  [[nodiscard]] bool is_for(const DeviceInfo& device) const;
  // Throws EnvironmentError, which names both devices, where it was not.
  void check_device(const DeviceInfo& device) const;

  // The choice for a problem if the bundle has one, else that of the nearest problem, among those
  // that serve and whose code the bundle has. Throws EnvironmentError where there is none, and as
  // check_device().
  [[nodiscard]] KernelChoice choose(const DeviceInfo& device, const GemmProblem& problem,
                                    Placement placement, const Serves& serves) const;
  // The cubin of a choice; where the bundle lacks code for aligned operands, that for any. Throws
  // StorageError where it is damaged, EnvironmentError where there is none, and as check_device().
  [[nodiscard]] std::string image(const DeviceInfo& device, const KernelChoice& choice,
                                  const CodeTraits& traits) const;

 private:
  struct Known {
    const KernelTemplate* kernel;
    BundledChoice choice;
  };
  [[nodiscard]] bool has_code(const Known& known, const GemmProblem& problem, bool aligned) const;

  Bundle bundle_;
  std::vector<Known> known_;
};

}  // namespace autotune
