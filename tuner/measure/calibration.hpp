// The maximum rates of a device, measured with plain kernels
// (tuner/measure/kernels/calibration.cu). The context of all arguments must be current.
#pragma once

#include "core/device_info.hpp"
#include "gpu/module.hpp"
#include "tuner/worker/protocol.hpp"

namespace autotune {

// Measures the rates. `kernels` is calibration.cu, loaded. A rate that cannot be measured is 0, and
// `problem` says why.
[[nodiscard]] CalibrateReply calibrate_gpu(const DeviceInfo& device, const gpu::Module& kernels,
                                           const gpu::Stream& stream);

// Rates that no kernel exceeds, for finding times that cannot be true; 0: unknown.
struct LimitingRates {
  double gflops = 0;
  double f64_gflops = 0;
  double gbps = 0;  // between the SMs and the L2 cache

  [[nodiscard]] double least_us(const ProblemData& data) const;
};
[[nodiscard]] LimitingRates limiting_rates(const DeviceInfo& device, const gpu::Module& kernels,
                                           const gpu::Stream& stream);

}  // namespace autotune
