// What a device can do at most, measured with plain kernels (tuner/kernels/calibration.cu). With
// the context current to which everything given belongs.
#pragma once

#include "core/device_info.hpp"
#include "gpu/module.hpp"
#include "tuner/worker/protocol.hpp"

namespace autotune {

// `kernels` is calibration.cu, loaded. What cannot be measured is 0, and `problem` says why.
[[nodiscard]] CalibrateReply calibrate_gpu(const DeviceInfo& device, const gpu::Module& kernels,
                                           const gpu::Stream& stream);

}  // namespace autotune
