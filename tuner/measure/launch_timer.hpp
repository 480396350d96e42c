// Times launches with events on a stream. One user at a time, with the stream's context current.
#pragma once

#include <functional>
#include <optional>

#include "core/trial.hpp"
#include "gpu/nvml.hpp"
#include "gpu/stream.hpp"
#include "tuner/worker/protocol.hpp"

namespace autotune {

// The measurement of a launch whose estimate alone is so far above stop_above_us that it stands for
// a sample; nullopt when samples are needed.
[[nodiscard]] std::optional<Measurement> screened_out(const TimingPlan& plan, double estimate_us);

class LaunchTimer {
 public:
  // `enqueue` puts one launch on the stream. `nvml` may be null.
  LaunchTimer(const gpu::Stream& stream, std::function<void()> enqueue, const gpu::Nvml* nvml);

  // The launch's time to within some microseconds, from two single launches that also warm up.
  [[nodiscard]] double estimate_us() const;

  // Samples, each of a batch of launches. Once a sample is above stop_above_us no other is taken.
  [[nodiscard]] Measurement measure(const TimingPlan& plan, double estimate_us) const;

 private:
  class Batch;
  void take_samples(Measurement& measurement, const TimingPlan& plan, double launch_us) const;
  // Microseconds for the whole batch; notes the clocks meanwhile.
  double time(const Batch& batch, Measurement& measurement) const;

  const gpu::Stream& stream_;
  std::function<void()> enqueue_;
  const gpu::Nvml* nvml_;
  gpu::Event start_;
  gpu::Event end_;
};

}  // namespace autotune
