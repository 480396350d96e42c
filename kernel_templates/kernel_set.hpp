// The kernel templates that a program knows, and by them the operations: the built-in ones, and
// those that a user adds.
#pragma once

#include <string_view>
#include <vector>

#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// Immutable once built; shared freely between threads. Templates keep their addresses.
class KernelSet {
 public:
  // Throws Error when two templates share a name.
  explicit KernelSet(std::vector<KernelTemplate> templates);

  // In the order of the constructor.
  [[nodiscard]] const std::vector<KernelTemplate>& templates() const { return templates_; }
  // nullptr when there is none of that name.
  [[nodiscard]] const KernelTemplate* find(std::string_view name) const;
  // The templates to try on a device where none is named: all that it can run. On the CPU
  // device, whose times say nothing about a GPU, only the templates that run on any GPU.
  [[nodiscard]] std::vector<const KernelTemplate*> for_device(const DeviceInfo& device) const;
  // The operation that has a problem; nullptr when no template's operation does.
  [[nodiscard]] const Operation* operation_of(const Problem& problem) const;
  // The same for a problem that is asked for. Throws UsageError when no template's operation has
  // it.
  [[nodiscard]] const Operation& operation_for(const Problem& problem) const;

 private:
  std::vector<KernelTemplate> templates_;
};

// The templates in kernel_templates/, in alphabetical order.
[[nodiscard]] const KernelSet& built_in_kernels();

}  // namespace autotune
