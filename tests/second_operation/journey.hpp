// The way of the second operation through the tuner, on one device.
#pragma once

#include <string>

#include "core/device_info.hpp"
#include "tuner/tuner.hpp"

namespace autotune::test {

// A device and workers in this process that know the second operation alone.
[[nodiscard]] TunerSetup transpose_setup(const DeviceInfo& device, const WorkerFactory& make_worker,
                                         TuningDatabase& database, CubinStore& cubins,
                                         const KernelRegistry& kernels);

// Enumerates, compiles, verifies, times, tunes, stores, looks up and exports; each step is checked.
void check_journey(const DeviceInfo& device, const WorkerFactory& make_worker);
// Kernels with planted faults are told from right ones.
void check_faults(const DeviceInfo& device, const WorkerFactory& make_worker);

}  // namespace autotune::test
