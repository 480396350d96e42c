// Times launches with events on a stream. For one thread at a time, with the stream's context
// current.
#pragma once

#include <functional>
#include <optional>

#include "core/trial.hpp"
#include "gpu/nvml.hpp"
#include "gpu/stream.hpp"
#include "tuner/worker/protocol.hpp"

namespace autotune {

// If the estimate alone is so far above stop_above_us that no sample is needed, returns a
// measurement that has the estimate as its sample; otherwise nullopt.
[[nodiscard]] std::optional<Measurement> screened_out(const TimingPlan& plan, double estimate_us);

class LaunchTimer {
 public:
  // `enqueue` puts one launch on the stream. `nvml` may be null.
  LaunchTimer(const gpu::Stream& stream, std::function<void()> enqueue, const gpu::Nvml* nvml);

  // The launch's time to within some microseconds, from two single launches that also warm up.
  [[nodiscard]] double estimate_us() const;

  // Takes samples, each from a batch of launches. Once a sample is above stop_above_us, no other is
  // taken.
  [[nodiscard]] Measurement measure(const TimingPlan& plan, double estimate_us) const;

 private:
  class Batch;
  void take_samples(Measurement& measurement, const TimingPlan& plan, double launch_us) const;
  // Returns the microseconds for the whole batch, and notes the clocks meanwhile.
  double time(const Batch& batch, Measurement& measurement) const;

  const gpu::Stream& stream_;
  std::function<void()> enqueue_;
  const gpu::Nvml* nvml_;
  gpu::Event start_;
  gpu::Event end_;
};

}  // namespace autotune
