// Takes the second operation through all steps of the tuner, on one device.
#pragma once

#include <string>

#include "core/device_info.hpp"
#include "tuner/run/tuner.hpp"

namespace autotune::test {

// A device with workers, and the templates of an operation that no worker knows.
[[nodiscard]] TunerSetup operation_setup(const DeviceInfo& device, const WorkerFactory& make_worker,
                                         TuningDatabase& database, CubinStore& cubins,
                                         const KernelSet& kernels);

// Enumerates, compiles, verifies, times, tunes, stores, looks up and exports; each step is checked.
void check_journey(const DeviceInfo& device, const WorkerFactory& make_worker);
// Checks that kernels with planted faults are found to be wrong.
void check_faults(const DeviceInfo& device, const WorkerFactory& make_worker);

}  // namespace autotune::test
