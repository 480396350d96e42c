// A third operation, with three inputs and two outputs of different types and shapes, which stand
// among each other: out = x * weight + y in FP32, and turned = 2 * weight + 1 transposed. `weight`
// and `turned` are integers.
#pragma once

#include <string>

#include "core/device_info.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune::test {

[[nodiscard]] Problem mix_problem(std::int64_t rows, std::int64_t columns);
[[nodiscard]] const Operation& mix_operation();
// With the template mix_tiled; `fault` is put into the kernel's text behind its stores.
[[nodiscard]] KernelSet mix_kernels(const std::string& fault = "");

// Tunes, stores and looks up; each step is checked.
void check_mix(const DeviceInfo& device, const WorkerFactory& make_worker);
// Checks that faults in either output are found, and that the output is named.
void check_mix_faults(const DeviceInfo& device, const WorkerFactory& make_worker);

}  // namespace autotune::test
