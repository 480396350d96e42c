#include "tuner/tuner.hpp"

#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "tuner/run/tuning_run.hpp"

namespace autotune {

std::vector<SpaceSummary> summarize_space(const TuneRequest& request, const DeviceInfo& device,
                                          const KernelRegistry& kernels) {
  std::vector<SpaceSummary> summaries;
  const auto templates = request.templates.empty() ? kernels.for_device(device) : request.templates;
  for (const KernelTemplate* kernel : templates) {
    std::vector<Constraint> constraints = device_constraints(*kernel, device);
    constraints.push_back(request.filter.constraint(*kernel));
    summaries.push_back({kernel, kernel->space.enumerate(constraints)});
  }
  return summaries;
}

TuneReport tune(const TuneRequest& request, TunerSetup& setup, const ProgressCallback& progress,
                std::stop_token stop) {
  return TuningRun(request, setup, progress, std::move(stop)).execute();
}

}  // namespace autotune
