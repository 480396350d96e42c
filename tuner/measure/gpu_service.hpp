// The service behind --device N: NVRTC and the driver, each opened when it is first needed, so that
// a compile worker never touches a device.
#pragma once

#include <memory>

#include "operation/operation.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {

// `operations` outlives the service.
[[nodiscard]] std::unique_ptr<WorkerService> make_gpu_service(
    int device_ordinal, const OperationRegistry& operations = built_in_operations());

}  // namespace autotune
