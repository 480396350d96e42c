// The maximum rates of this machine's processor, measured with plain loops on all its cores.
#pragma once

#include "core/thread_pool.hpp"

namespace autotune {

// FP32 multiply-adds from registers, two operations each: GFLOP/s.
[[nodiscard]] double measure_multiply_adds(ThreadPool& pool);
// Copying in memory, bytes read plus bytes written: GB/s.
[[nodiscard]] double measure_copying(ThreadPool& pool);

}  // namespace autotune
