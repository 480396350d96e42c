// Compares a result of the CPU device with the operation's reference.
#pragma once

#include <span>

#include "core/thread_pool.hpp"
#include "tuner/measure/cpu_workspace.hpp"

namespace autotune {

// Compares these parts of an output with its reference, which was computed, and checks the guard
// zones. Every element must be equal to the reference for integers, and within `error_bound` for
// reals and for outputs with a tolerance. The pool's threads share the parts.
[[nodiscard]] Finding compare(const CpuWorkspace::Output& output, std::span<const Rectangle> parts,
                              DataSet data, double error_bound, ThreadPool& pool);

// What is to be said of an output that is wrong by its tolerance.
[[nodiscard]] WrongOutput wrong_output(const CpuWorkspace::Output& output, DataSet data,
                                       const Finding& finding);

}  // namespace autotune
