// What a described kernel has for a problem and a configuration: its launch and the values of its
// arguments. Functions throw UsageError, with the place in the file, for values that cannot be.
#pragma once

#include <cstdint>
#include <vector>

#include "autotune/configuration.hpp"

#include "core/launch_geometry.hpp"
#include "core/problem.hpp"
#include "own_kernels/kernel_file.hpp"

namespace autotune {

// The values that a kernel's expressions refer to: of the sizes, then of the parameters. Without a
// problem sizes are 1.
using DescribedValues = std::vector<std::int64_t>;
[[nodiscard]] DescribedValues values_of(const DescribedKernel& kernel, const Problem* problem,
                                        const Configuration* configuration);

[[nodiscard]] Configuration default_of(const DescribedKernel& kernel);

// Of no blocks where the launch cannot be computed: fits() refuses it.
[[nodiscard]] LaunchGeometry geometry_of(const DescribedKernel& kernel,
                                         const Configuration& configuration,
                                         const Problem& problem);
// Returns whether a configuration can compute a problem.
[[nodiscard]] bool fits(const DescribedKernel& kernel, const Configuration& configuration,
                        const Problem& problem);

[[nodiscard]] std::vector<TensorDesc> tensors_of(const DescribedKernel& kernel,
                                                 const Problem& problem);
[[nodiscard]] std::vector<TensorContent> contents_of(const DescribedKernel& kernel,
                                                     const Problem& problem);
// The values of the arguments that are passed as whole numbers.
[[nodiscard]] std::vector<std::int64_t> numbers_of(const DescribedKernel& kernel,
                                                   const Problem& problem);

// Throws where the default configuration cannot be launched for a problem: a buffer without
// elements, a division by zero, too large a grid.
void check_problem(const DescribedKernel& kernel, const Problem& problem);

}  // namespace autotune
