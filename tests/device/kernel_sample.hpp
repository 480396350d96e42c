// Which kernels the device tests run.
//
// AUTOTUNE_DEVICE_TEST_SAMPLE=N: about N configurations of a template.
// AUTOTUNE_DEVICE_TEST_TEMPLATE=NAME leaves out the other templates.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "autotune/configuration.hpp"

#include "kernel_templates/kernel_template.hpp"
#include "tests/device/gpu_fixture.hpp"

namespace autotune {

// Returns N, or 0 where the environment names none.
[[nodiscard]] std::size_t sample_size();

// The templates that the device runs and the environment does not leave out.
[[nodiscard]] std::vector<const KernelTemplate*> chosen_templates(const DeviceInfo& device);

// The configurations that the device runs.
[[nodiscard]] std::vector<Configuration> all_configurations(const KernelTemplate& kernel,
                                                            const DeviceInfo& device);
// About sample_size() of them, or `otherwise` if that is 0, in which every value of every parameter
// occurs.
[[nodiscard]] std::vector<Configuration> sampled(std::vector<Configuration> all,
                                                 std::size_t otherwise);

// Compiles on all cores, the same code once. What fails is an empty image.
[[nodiscard]] std::vector<std::string> compile_all(const Gpu& gpu, const KernelTemplate& kernel,
                                                   const std::vector<Configuration>& configurations,
                                                   const CodeTraits& traits);

}  // namespace autotune
