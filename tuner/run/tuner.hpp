// The tuning loop: it proposes configurations, has workers compile, verify and time them, stores
// the trials, and times the best configurations again in interleaved finals.
#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "tuner/run/report.hpp"
#include "tuner/run/request.hpp"
#include "tuner/run/setup.hpp"

namespace autotune {

// The problems that a template is searched for to answer one of a request's
// (TuneRequest::alternatives); none where it computes none.
[[nodiscard]] std::vector<Problem> searched_problems(const TuneRequest& request,
                                                     const KernelTemplate& kernel,
                                                     const Problem& problem);

// The space of one template that a request would search on a device, which --dry-run prints.
struct SpaceSummary {
  const KernelTemplate* kernel = nullptr;
  std::optional<Problem> problem;  // the only one of the space, of a template with `fits`
  Enumeration enumeration;
  std::size_t problems = 0;    // those of the request that it answers and that fit the memory
  std::size_t searches = 0;    // for these: as many, or more with alternatives
  std::string too_large;       // why a problem does not fit; else empty
  std::string nothing_to_try;  // why there is no configuration or no problem; else empty

  [[nodiscard]] std::size_t trials() const { return searches * enumeration.configurations.size(); }
};
[[nodiscard]] std::vector<SpaceSummary> summarize_space(const TuneRequest& request,
                                                        const DeviceInfo& device,
                                                        const KernelSet& kernels);
// Throws UsageError if the spaces have no trial, or EnvironmentError if a lack of memory is the
// reason.
void check_not_empty(const std::vector<SpaceSummary>& spaces);

// Tunes. Throws UsageError for an empty space, and EnvironmentError when no worker can compile, the
// device cannot be opened or no problem fits its memory. After a stop request the search ends with
// the trial that is being measured; all results are stored and the best so far is the answer. So it
// does once nothing can be compiled or measured any more, if some problem has an answer.
[[nodiscard]] TuneReport tune(const TuneRequest& request, TunerSetup& setup,
                              const ProgressCallback& progress, std::stop_token stop);

}  // namespace autotune
