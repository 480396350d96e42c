// What run and sweep have measured, and how it is printed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "core/device_info.hpp"
#include "core/trial.hpp"

namespace autotune {

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
