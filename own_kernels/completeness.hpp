// Whether a description says all that tuning needs.
#pragma once

#include "own_kernels/kernel_file.hpp"

namespace autotune {

// Throws UsageError that names what is missing, with a directive as an example.
void check_complete(const DescribedKernel& kernel);

}  // namespace autotune
