// Verifies and times kernels on a GPU, with the meaning that tuner/protocol.hpp gives to a
// MeasureRequest (docs/measuring.md). One user at a time; the caller's current context is left as
// it was found.
#pragma once

#include <memory>

#include "autotune/error.hpp"

#include "core/device_info.hpp"
#include "gpu/context.hpp"
#include "gpu/nvrtc.hpp"
#include "tuner/worker/protocol.hpp"

namespace autotune {

struct DeviceOperands;

class GpuMeasurer {
 public:
  // Throws EnvironmentError: no driver, no such device, an NVRTC that does not fit.
  GpuMeasurer(int ordinal, std::shared_ptr<const gpu::Nvrtc> nvrtc);
  ~GpuMeasurer();

  // Whatever the kernel does short of hanging is in the reply.
  MeasureReply measure(const MeasureRequest& request);
  CalibrateReply calibrate();

 private:
  struct Objects;  // all that lives in the context
  struct Run;      // a request on its way

  void load(Run& run);
  void measure(Run& run);
  void launch(const Run& run, const DeviceOperands& operands);
  bool verify(Run& run);
  bool time(Run& run);
  void verify_again(Run& run);
  [[nodiscard]] bool is_poisoned(const Error& error) const;

  std::shared_ptr<const gpu::Nvrtc> nvrtc_;
  std::shared_ptr<const gpu::Driver> driver_;
  DeviceInfo device_;
  gpu::PrimaryContext context_;
  std::unique_ptr<Objects> objects_;
};

}  // namespace autotune
