// Verifies and times kernels, with the meaning that tuner/worker/protocol.hpp gives to a
// MeasureRequest (docs/measuring.md): one procedure, above a backend that launches and checks on
// one kind of device.
#pragma once

#include <string>

#include "autotune/error.hpp"

#include "operation/operation.hpp"
#include "tuner/measure/verification.hpp"
#include "tuner/worker/protocol.hpp"

namespace autotune {

// The two sets of inputs that a problem is computed on.
enum class DataSet : std::uint8_t {
  integers,  // small ones, whose results are exact
  reals,     // as MeasureRequest::input says
};

struct Timing {
  Measurement measurement;
  bool launched = true;  // false: the estimate stands for a sample
};

// One kind of device. The calls belong to one thread; those behind provide() and load() are about
// the request that these got last.
class MeasureBackend {
 public:
  virtual ~MeasureBackend() = default;

  // Makes the problem's tensors and references, unless it has them. Why the device cannot hold
  // them; empty when it does.
  virtual std::string provide(const Operation& operation, const MeasureRequest& request) = 0;
  // Makes the kernel or baseline ready to be launched. Gives what is worth noting: the version of a
  // baseline. Throws Error.
  virtual std::string load(const MeasureRequest& request) = 0;

  // Poisons the output and its guard zones, so that what a launch does not write is found out.
  virtual void poison() = 0;
  // One launch, which has ended on return; microseconds. Throws Error for a fault.
  virtual double launch(DataSet data) = 0;
  // Compares the output with the reference of the data: bit for bit for integers, within
  // `error_bound` for reals. `when` completes "wrong ...".
  virtual CheckOutcome check(DataSet data, double error_bound, const std::string& when,
                             Finding& finding) = 0;
  // Times launches on the reals. `estimate_us`: of one launch, by those that verified; 0 without.
  virtual Timing time(const TimingPlan& plan, double estimate_us) = 0;

  // What a reader of the result should know, in one line: "12 of 10,000 blocks". Mostly empty.
  [[nodiscard]] virtual std::string note() const { return ""; }
  // What an error of a launch means.
  [[nodiscard]] virtual bool is_out_of_memory(const Error&) const { return false; }
  [[nodiscard]] virtual bool is_poisoned(const Error&) const { return false; }
  // The request has failed: what its kernel may have written to is not used again.
  virtual void discard(TrialStatus) {}
};

// Whatever the kernel does short of hanging or crashing the process is in the reply.
[[nodiscard]] MeasureReply measure(MeasureBackend& backend, const OperationRegistry& operations,
                                   const MeasureRequest& request);

}  // namespace autotune
