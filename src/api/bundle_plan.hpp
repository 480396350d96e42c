// What a bundle holds for some problems, and its kernels' code.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "api/kernel_selector.hpp"
#include "export/bundle/bundle_format.hpp"
#include "export/bundle/bundle_writer.hpp"
#include "gpu/nvrtc.hpp"

namespace autotune {

struct BundlePlan {
  // Code to be compiled.
  struct Code {
    const KernelTemplate* kernel = nullptr;
    Configuration configuration;
    CodeTraits traits;
  };
  std::vector<BundledChoice> choices;
  std::map<std::string, Code> code;  // by the keys of bundled_key()
};

// The choices of a device's selector for problems, with code for operands at any address and for
// aligned ones, and the kernel that scales C. Throws what KernelSelector::predict() throws.
[[nodiscard]] BundlePlan plan_bundle(const KernelSelector& selector,
                                     const std::vector<Problem>& problems);

// The same for problems of a kernel of a user's own, by the results that `results_of` names.
[[nodiscard]] BundlePlan plan_own_bundle(const KernelTemplate& kernel, const DeviceInfo& device,
                                         const DeviceQuery& results_of,
                                         const std::vector<Problem>& problems,
                                         const ResultSource& results, const Log& log);

// Takes the code of a plan from the cubin store, or compiles it, in `jobs` threads. Calls
// `on_kernel` for each kernel that is there, one call at a time. The NVRTC makes cubins for the
// target. Throws Error where it refuses a kernel. Returns
// nullopt after a request to stop, with the kernels that are done in the store.
[[nodiscard]] std::optional<BundleContent> compile_bundle(const gpu::Nvrtc& nvrtc,
                                                          const BundlePlan& plan,
                                                          const BundleTarget& target, int jobs,
                                                          const std::stop_token& stop,
                                                          const std::function<void()>& on_kernel);

}  // namespace autotune
