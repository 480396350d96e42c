// Compares a result of the CPU device with the operation's reference.
#pragma once

#include <cstdint>
#include <span>

#include "core/thread_pool.hpp"
#include "cpu/tensors.hpp"
#include "operation/operation.hpp"
#include "tuner/measure/measurer.hpp"

namespace autotune {

// The findings in these parts of the output, and in the guard zones around it: every element equal
// to the reference for integers, within `error_bound` for reals. The parts are shared out to the
// pool's threads.
[[nodiscard]] Finding compare(const Operation& operation, const Problem& problem,
                              std::span<const void* const> inputs, const PoisonedTensor& output,
                              std::span<const Rectangle> parts, DataSet data, double error_bound,
                              ThreadPool& pool);

}  // namespace autotune
