// The tuning loop: proposes configurations, has them compiled, verified and timed by workers,
// stores what becomes of them, and times the best again in interleaved finals.
#pragma once

#include <stop_token>
#include <vector>

#include "tuner/report.hpp"
#include "tuner/request.hpp"
#include "tuner/setup.hpp"

namespace autotune {

// The output of --dry-run: the space that a request would search on a device.
struct SpaceSummary {
  const KernelTemplate* kernel = nullptr;
  Enumeration enumeration;
};
[[nodiscard]] std::vector<SpaceSummary> summarize_space(
    const TuneRequest& request, const DeviceInfo& device,
    const KernelRegistry& kernels = built_in_kernels());

// Tunes. Throws UsageError for an empty space, EnvironmentError when no worker can compile, the
// device cannot be opened or no problem fits its memory. A stop request ends the search after the
// trial in flight; all results are stored and the best so far is the answer.
[[nodiscard]] TuneReport tune(const TuneRequest& request, TunerSetup& setup,
                              const ProgressCallback& progress, std::stop_token stop);

}  // namespace autotune
