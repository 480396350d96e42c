// Verifies and times kernels on the host device, with the meaning that tuner/protocol.hpp gives to
// a MeasureRequest. One user at a time.
#pragma once

#include <optional>
#include <vector>

#include "cpu/block_sample.hpp"
#include "cpu/launcher.hpp"
#include "cpu/operands.hpp"
#include "tuner/measure/verification.hpp"
#include "tuner/worker/protocol.hpp"

namespace autotune {

class CpuMeasurer {
 public:
  // Whatever the kernel does short of a crash is in the reply.
  MeasureReply measure(const MeasureRequest& request);

  [[nodiscard]] ThreadPool& pool() { return launcher_.pool(); }

 private:
  // Input and result of the last problem, kept since the next request is mostly for the same.
  struct Operands {
    GemmProblem problem;
    InputData input;
    std::uint64_t seed;
    std::vector<float> integers_a, integers_b, a, b;
    PoisonedMatrix c;
  };
  struct Run;

  Operands& operands_for(const MeasureRequest& request);
  MeasureReply measure(Run& run);
  CheckOutcome choose_blocks(Run& run);
  CheckOutcome launch(Run& run, bool on_integers);
  CheckOutcome time(Run& run, Measurement& measurement);
  CheckOutcome check(const Run& run, bool on_integers, const std::string& when,
                     Verification& verification);

  CpuLauncher launcher_;
  std::optional<Operands> operands_;
};

}  // namespace autotune
