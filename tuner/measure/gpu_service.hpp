// The service behind --device N: NVRTC and the driver, each opened when it is first needed, so that
// a compile worker never touches a device.
#pragma once

#include <memory>

#include "tuner/worker/worker.hpp"

namespace autotune {

[[nodiscard]] std::unique_ptr<WorkerService> make_gpu_service(int device_ordinal);

}  // namespace autotune
