// Compares a result of the CPU device with the operation's reference.
#pragma once

#include <cstdint>
#include <span>

#include "core/thread_pool.hpp"
#include "cpu/tensors.hpp"
#include "operation/operation.hpp"
#include "tuner/measure/measurer.hpp"

namespace autotune {

// Compares these parts of the output with the reference, and checks the guard zones. Every element
// must be equal to the reference for integers, and within `error_bound` for reals. The pool's
// threads share the parts.
[[nodiscard]] Finding compare(const Operation& operation, const Problem& problem,
                              std::span<const void* const> inputs, const PoisonedTensor& output,
                              std::span<const Rectangle> parts, DataSet data, double error_bound,
                              ThreadPool& pool);

}  // namespace autotune
