// The words and figures that every operation has for its problems, for tables and messages.
#pragma once

#include <string>

#include "core/problem.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {

// The text of the problem's operation, with the math where results are of more than one; the key of
// a problem of an operation that the set does not have.
[[nodiscard]] std::string size_text(const KernelSet& kernels, const Problem& problem,
                                    bool with_math = false);

// The rate at this time in GFLOP/s; 0 for no time, and where the problem's work is not known.
[[nodiscard]] double rate_of(const KernelSet& kernels, const Problem& problem, double time_us);

}  // namespace autotune
