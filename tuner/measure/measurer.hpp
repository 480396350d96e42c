// Verifies and times kernels as a MeasureRequest (tuner/worker/protocol.hpp) asks for
// (docs/measuring.md). The procedure is the same for all devices; a backend launches and checks on
// one kind of device.
#pragma once

#include <string>

#include "autotune/error.hpp"

#include "cpu/tensors.hpp"
#include "operation/problem_data.hpp"
#include "tuner/measure/verification.hpp"
#include "tuner/worker/protocol.hpp"

namespace autotune {

// The two sets of inputs that a problem is computed on. If the results have tolerances
// (ProblemData::has_tolerances), both have the contents that the operation says, with other random
// numbers.
enum class DataSet : std::uint8_t {
  integers,  // small integers, whose results are exact
  reals,     // the data that MeasureRequest::input names
};

struct Timing {
  Measurement measurement;
  bool launched = true;  // false: the estimate stands for a sample
};

// The operations on one kind of device. All calls come from one thread. The functions after
// provide() and load() refer to the request that these two received last.
class MeasureBackend {
 public:
  virtual ~MeasureBackend() = default;

  // Compiles the kernels that provide() and check() use, which takes the processor alone. provide()
  // compiles what was not compiled before.
  virtual void compile_kernels(const ProblemData&) {}
  // Makes the problem's tensors and references, unless it has them. Returns why the device cannot
  // hold them, or an empty text.
  virtual std::string provide(const MeasureRequest& request) = 0;
  // Makes the kernel or baseline ready to be launched. Returns a note for the result: the version
  // of a baseline. Throws Error.
  virtual std::string load(const MeasureRequest& request) = 0;
  // Reserves the resources of a launch: shared memory and workspace. Throws Error.
  virtual void prepare_launch() {}

  // Fills the outputs and their guard zones with poison, which shows which words a launch has
  // written, and gives the inouts their data.
  virtual void poison(DataSet data, Poison poison = Poison::nan) = 0;
  // Launches once, waits for the end and returns the microseconds. Throws Error for a fault.
  virtual double launch(DataSet data) = 0;
  // Compares the outputs with the references of the data: bit for bit for integers, within the
  // error bound for reals; within the tolerances for outputs that have them. `when` completes
  // "wrong ...".
  virtual CheckOutcome check(DataSet data, const std::string& when, Finding& finding) = 0;
  // Writes the outputs to the files that the problem's data name for results.
  virtual void store_results() {}
  // Returns the name of an input that a launch has changed, if the results have tolerances. Empty:
  // none.
  [[nodiscard]] virtual std::string changed_input(DataSet) { return ""; }
  // The least time in which the device can do so much work of kernels on these tensors; 0: unknown.
  [[nodiscard]] virtual double least_us(const ProblemData&) { return 0; }
  // Times launches on the reals. `estimate_us` is the time of a verified launch; 0: there was none.
  virtual Timing time(const TimingPlan& plan, double estimate_us) = 0;

  // A note for readers of the result, in one line: "12 of 10,000 blocks". Empty in most cases.
  [[nodiscard]] virtual std::string note() const { return ""; }
  // Classify an error of a launch.
  [[nodiscard]] virtual bool is_out_of_memory(const Error&) const { return false; }
  [[nodiscard]] virtual bool is_poisoned(const Error&) const { return false; }
  // To be called when the request has failed. Data that its kernel may have overwritten is not used
  // again.
  virtual void discard(TrialStatus) {}
};

// Runs the procedure. The reply reports every failure of the kernel except a hang or a crash of the
// process. Throws EnvironmentError for a fault of the machine.
[[nodiscard]] MeasureReply measure(MeasureBackend& device, const MeasureRequest& request);

}  // namespace autotune
