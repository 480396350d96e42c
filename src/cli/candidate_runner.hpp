// Compiles and measures single configurations, for run, sweep and bench.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
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

// Says why a trial failed: "64x64x64: ...".
[[nodiscard]] std::string failure_text(const KernelSet& kernels, const Trial& trial);
// Prints why trials failed, and that a run was interrupted before it had made all that were wanted.
void print_trial_notes(const KernelSet& kernels, const std::vector<Trial>& trials,
                       std::size_t wanted);
// Prints the trials as JSON or CSV, whichever is asked for.
void print_trials(const char* command, const DeviceInfo& device, const std::vector<Trial>& trials,
                  std::size_t wanted, const Options& options);
// The exit code for the first failure; that of success if there is none.
[[nodiscard]] int exit_code_for(const std::vector<Trial>& trials, std::size_t wanted);

}  // namespace autotune
