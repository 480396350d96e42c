// Makes of a kernel's description what the tuner works with: an operation and a template.
#pragma once

#include <memory>

#include "kernel_templates/kernel_set.hpp"
#include "own_kernels/kernel_file.hpp"

namespace autotune {

// A kernel of a user, as a set of one template. Immutable; shared freely between threads.
class OwnKernels {
 public:
  // `kernel` is one of the file's, which has its reference too. Throws UsageError that begins with
  // FILE:LINE:COLUMN for a default configuration that the restrictions forbid.
  OwnKernels(const KernelFile& file, const DescribedKernel& kernel);

  [[nodiscard]] const KernelSet& kernels() const { return *set_; }
  [[nodiscard]] const KernelTemplate& kernel() const { return set_->templates().front(); }
  [[nodiscard]] const DescribedKernel& described() const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
  std::shared_ptr<const KernelSet> set_;
};

}  // namespace autotune
