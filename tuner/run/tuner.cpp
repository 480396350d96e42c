#include "tuner/run/tuner.hpp"

#include <algorithm>
#include <future>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "operation/memory_requirement.hpp"
#include "tuner/run/tuning_run.hpp"

namespace autotune {

namespace {

bool has_parameter(const KernelTemplate& kernel, const std::string& name) {
  const auto& all = kernel.space.parameters();
  return std::ranges::any_of(
      all, [&](const TuningParameter& parameter) { return parameter.name == name; });
}

// The templates that have a parameter, as advice; empty where none has it.
std::string owners(const KernelSet& kernels, const std::string& parameter) {
  std::vector<std::string> names;
  for (const KernelTemplate& kernel : kernels.templates()) {
    if (has_parameter(kernel, parameter)) names.push_back(kernel.name);
  }
  return names.empty() ? ""
                       : fmt::format("; name a template that has it (--template): {}",
                                     fmt::join(names, ", "));
}

// Names the constraint that rejects most of a space of which no configuration is left.
// `constraints` are those of the device and of the request, which the enumeration applied last.
std::string why_empty(const KernelSet& kernels, const KernelTemplate& kernel,
                      const SpaceFilter& filter, const std::vector<Constraint>& constraints,
                      const Enumeration& enumeration) {
  for (const auto& [name, values] : filter.only) {
    if (!has_parameter(kernel, name))
      return fmt::format("it has no {}{}", name, owners(kernels, name));
  }
  const auto rejected = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto end = enumeration.rejected.end();
  if (kernel.fits && std::max_element(enumeration.rejected.begin(), end, rejected) + 1 == end) {
    return "no configuration fits the size";
  }
  const auto first = end - (kernel.fits ? 1 : 0) - static_cast<std::ptrdiff_t>(constraints.size());
  const auto most =
      std::max_element(first, first + static_cast<std::ptrdiff_t>(constraints.size()), rejected);
  const auto index = static_cast<std::size_t>(most - first);
  const bool is_filter = index + 1 == constraints.size();
  if (!is_filter) return constraints[index].meaning;
  SpaceFilter without_shards = filter;
  without_shards.shard = without_shards.shards = 1;
  return without_shards.empty() ? "no configuration is in this shard: ask for fewer shards"
                                : "no valid configuration has the values that are asked for";
}

}  // namespace

std::vector<Problem> searched_problems(const TuneRequest& request, const KernelTemplate& kernel,
                                       const Problem& problem) {
  const auto found = request.alternatives.find(problem);
  std::vector<Problem> result =
      found == request.alternatives.end() ? std::vector{problem} : found->second;
  if (computes(kernel, result.front())) {
    result.resize(1);
  } else {
    std::erase_if(result, [&](const Problem& one) { return !computes(kernel, one); });
  }
  return result;
}

namespace {

// Leaves the configurations that fit a problem, and counts the others.
Enumeration fitting(const KernelTemplate& kernel, const Enumeration& all, const Problem& problem) {
  Enumeration result = all;
  std::erase_if(result.configurations, [&](const Configuration& configuration) {
    return !kernel.fits(configuration, problem);
  });
  result.rejected.emplace_back("size", all.configurations.size() - result.configurations.size());
  return result;
}

// What a request finds in a space.
class SpaceSummarizer {
 public:
  SpaceSummarizer(const TuneRequest& request, const DeviceInfo& device, const KernelSet& kernels,
                  const KernelTemplate& kernel)
      : request_(request), device_(device), kernels_(kernels), kernel_(kernel) {
    constraints_ = device_constraints(kernel, device);
    constraints_.push_back(request.filter.constraint(kernel));
  }

  [[nodiscard]] std::vector<SpaceSummary> summaries() const {
    Enumeration all = kernel_.space.enumerate(constraints_);
    if (!kernel_.fits) return {summary(std::move(all), request_.problems)};
    std::vector<SpaceSummary> result;
    for (const Problem& problem : request_.problems) {
      result.push_back(summary(fitting(kernel_, all, problem), {problem}));
      result.back().problem = problem;
    }
    return result;
  }

 private:
  [[nodiscard]] SpaceSummary summary(Enumeration enumeration,
                                     const std::vector<Problem>& problems) const {
    SpaceSummary summary;
    summary.kernel = &kernel_;
    summary.enumeration = std::move(enumeration);
    for (const Problem& problem : problems) {
      const std::size_t searches = searched_problems(request_, kernel_, problem).size();
      if (searches == 0) continue;
      std::string why = why_too_large(*kernel_.operation, problem, device_);
      if (why.empty()) ++summary.problems;
      if (why.empty()) summary.searches += searches;
      if (!why.empty()) summary.too_large = std::move(why);
    }
    if (summary.enumeration.configurations.empty()) {
      summary.nothing_to_try =
          why_empty(kernels_, kernel_, request_.filter, constraints_, summary.enumeration);
    } else if (summary.problems == 0 && summary.too_large.empty()) {
      summary.nothing_to_try = "it computes none of these problems";
    }
    return summary;
  }

  const TuneRequest& request_;
  const DeviceInfo& device_;
  const KernelSet& kernels_;
  const KernelTemplate& kernel_;
  std::vector<Constraint> constraints_;
};

}  // namespace

std::vector<SpaceSummary> summarize_space(const TuneRequest& request, const DeviceInfo& device,
                                          const KernelSet& kernels) {
  // A large space takes some tenths of a second, so the templates are enumerated at the same time.
  std::vector<std::future<std::vector<SpaceSummary>>> pending;
  for (const KernelTemplate* kernel :
       request.templates.empty() ? kernels.for_device(device) : request.templates) {
    pending.push_back(std::async([&request, &device, &kernels, kernel] {
      return SpaceSummarizer(request, device, kernels, *kernel).summaries();
    }));
  }
  std::vector<SpaceSummary> summaries;
  for (auto& each : pending) std::ranges::move(each.get(), std::back_inserter(summaries));
  return summaries;
}

void check_not_empty(const std::vector<SpaceSummary>& spaces) {
  std::string why;
  for (const SpaceSummary& space : spaces) {
    if (space.trials() > 0) return;
    if (space.nothing_to_try.empty()) throw EnvironmentError(space.too_large);
    why +=
        fmt::format("{}{}: {}", why.empty() ? "" : "; ", space.kernel->name, space.nothing_to_try);
  }
  throw UsageError("no configuration is left to try: " + why);
}

TuneReport tune(const TuneRequest& request, TunerSetup& setup, const ProgressCallback& progress,
                std::stop_token stop) {
  return TuningRun(request, setup, progress, std::move(stop)).execute();
}

}  // namespace autotune
