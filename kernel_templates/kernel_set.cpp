#include "kernel_templates/kernel_set.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "autotune/error.hpp"

namespace autotune {

KernelSet::KernelSet(std::vector<KernelTemplate> templates) : templates_(std::move(templates)) {
  std::set<std::string> names;
  for (const KernelTemplate& kernel : templates_) {
    if (!names.insert(kernel.name).second) {
      throw Error("two kernel templates are named " + kernel.name);
    }
  }
}

const KernelTemplate* KernelSet::find(std::string_view name) const {
  const auto found = std::find_if(templates_.begin(), templates_.end(),
                                  [&](const KernelTemplate& one) { return one.name == name; });
  return found == templates_.end() ? nullptr : &*found;
}

std::vector<const KernelTemplate*> KernelSet::for_device(const DeviceInfo& device) const {
  constexpr int kAnyGpu = 50;
  const int capability =
      device.is_cpu() ? kAnyGpu : 10 * device.compute_major + device.compute_minor;
  std::vector<const KernelTemplate*> result;
  for (const KernelTemplate& kernel : templates_) {
    if (runs_on(kernel, capability)) result.push_back(&kernel);
  }
  return result;
}

const Operation* KernelSet::operation_of(const Problem& problem) const {
  for (const KernelTemplate& kernel : templates_) {
    if (kernel.operation->name != problem.operation()) continue;
    return kernel.operation->has(problem) ? kernel.operation : nullptr;
  }
  return nullptr;
}

const Operation& KernelSet::operation_for(const Problem& problem) const {
  if (const Operation* const operation = operation_of(problem)) return *operation;
  throw UsageError("no kernel here computes " + problem.key());
}

}  // namespace autotune
