// The maximum rates of this machine's processor, measured with plain loops on all its cores.
#pragma once

#include "core/thread_pool.hpp"

namespace autotune {

// Returns the rate of FP32 multiply-adds from registers, of two operations each, in GFLOP/s.
[[nodiscard]] double measure_multiply_adds(ThreadPool& pool);
// Returns the rate of copying in memory, bytes read plus bytes written, in GB/s.
[[nodiscard]] double measure_copying(ThreadPool& pool);

}  // namespace autotune
