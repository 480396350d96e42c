// Compiles and measures single configurations outside of a search.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/mailbox.hpp"
#include "core/problem.hpp"
#include "tuner/compile/kernel_builder.hpp"
#include "tuner/devices/trial_runner.hpp"
#include "tuner/run/tuner.hpp"

namespace autotune {

// Throws EnvironmentError where the device's memory holds none of the problems. To be asked before
// the first is measured.
void check_memory(const KernelSet& kernels, const std::vector<Problem>& problems,
                  const DeviceInfo& device);

// Belongs to one thread.
class CandidateRunner {
 public:
  // Throws EnvironmentError when there is no compiler, or none for this device. All references
  // outlive this.
  CandidateRunner(const TunerSetup& setup, CubinStore& cubins);

  // Starts compiling; run() then finds it done, or sooner.
  void prepare(const KernelTemplate& kernel, const Configuration& configuration,
               const Problem& problem);
  // The trial of a problem that the device's memory does not hold says so.
  [[nodiscard]] Trial run(const KernelTemplate& kernel, const Configuration& configuration,
                          const Problem& problem, const MeasureOptions& options);
  // Times an algorithm of a baseline, "cublas".
  [[nodiscard]] Trial run_baseline(const std::string& name, int algorithm, const Problem& problem,
                                   const MeasureOptions& options);

 private:
  // Returns the failed trial of a problem that is too large for the device.
  [[nodiscard]] std::optional<Trial> too_large(const Problem& problem) const;

  const KernelSet& kernels_;
  DeviceInfo device_;
  TrialRunner runner_;
  Mailbox<KernelBuilt> built_;
  CompilePool pool_;
  std::unique_ptr<KernelBuilder> builder_;
};

}  // namespace autotune
