// The default configuration of a description that names none which is valid.
#pragma once

#include "own_kernels/kernel_file.hpp"

namespace autotune {

// Changes the defaults of a kernel without sizes to those of a configuration that meets all
// restrictions and can be launched, if they are not such a one: the first in the order of the
// parameters, in which a parameter has its default before its other values. Where no such one is
// found, one that meets the restrictions will do. Throws UsageError where there is none, and for a
// restriction that cannot be computed.
void choose_defaults(DescribedKernel& kernel);

}  // namespace autotune
