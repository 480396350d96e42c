#include "cli/report/report_data.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

// A detail may be a compiler's whole log.
constexpr std::size_t kMaxDetail = 300;

// Gathers trials, which come in the order they were stored.
class Collector {
 public:
  Collector(const KernelSet& kernels, ReportData& report) : kernels_(kernels), report_(report) {
    details_.emplace("", 0);
    report_.details.emplace_back();
  }

  void add(const TrialRow& row) {
    ReportSize* const size = size_of(row);
    if (size == nullptr) return;
    const Configuration configuration = Configuration::parse(row.configuration);
    const std::uint32_t space = space_of(row.scope.template_name, configuration);
    ReportSpace& own = report_.spaces[space];
    const std::size_t width = std::max<std::size_t>(1, own.parameters.size());
    const auto place = static_cast<std::uint32_t>(own.values.size() / width);
    own.values.insert(own.values.end(), configuration.values().begin(),
                      configuration.values().end());
    const bool ok = row.status == TrialStatus::ok;
    size->trials.push_back({.median_us = ok ? row.median_us : 0,
                            .space = space,
                            .place = place,
                            .detail = ok ? 0 : detail_of(row.detail),
                            .status = row.status});
    ++report_.trials;
    ++run_of(row.run).trials;
  }

 private:
  // nullptr for a problem that this program does not know.
  ReportSize* size_of(const TrialRow& row) {
    const auto [known, is_new] = sizes_.try_emplace({&row.scope, &row.problem}, kUnknown);
    if (is_new) known->second = find_size(row);
    if (known->second == kUnknown) return nullptr;
    ReportDevice& device = report_.devices[report_.sizes[known->second].device];
    if (is_new) device.environment = row.scope.environment;
    return &report_.sizes[known->second];
  }

  std::size_t find_size(const TrialRow& row) {
    const Operation* const operation = kernels_.operation_of(row.problem);
    if (operation == nullptr) return kUnknown;
    const std::size_t device = device_of(row);
    const auto same = std::ranges::find_if(report_.sizes, [&](const ReportSize& size) {
      return size.device == device && size.problem == row.problem;
    });
    if (same != report_.sizes.end()) {
      return static_cast<std::size_t>(same - report_.sizes.begin());
    }
    report_.sizes.push_back({.device = device,
                             .problem = row.problem,
                             .text = operation->text(row.problem),
                             .work = operation->work(row.problem)});
    return report_.sizes.size() - 1;
  }

  std::size_t device_of(const TrialRow& row) {
    const auto same = std::ranges::find_if(report_.devices, [&](const ReportDevice& device) {
      return device.device_class == row.scope.device_class;
    });
    if (same != report_.devices.end()) {
      return static_cast<std::size_t>(same - report_.devices.begin());
    }
    report_.devices.push_back({.label = row.run.device_label,
                               .device_class = row.scope.device_class,
                               .environment = row.scope.environment});
    return report_.devices.size() - 1;
  }

  // Trials of one search come together, so that the last one's space is mostly this one's too.
  std::uint32_t space_of(const std::string& template_name, const Configuration& configuration) {
    const auto is_own = [&](const ReportSpace& space) {
      return space.template_name == template_name &&
             std::equal(
                 space.parameters.begin(), space.parameters.end(), configuration.entries().begin(),
                 configuration.entries().end(),
                 [](const std::string& name, const auto& entry) { return name == entry.first; });
    };
    std::vector<ReportSpace>& spaces = report_.spaces;
    if (last_space_ < spaces.size() && is_own(spaces[last_space_])) return last_space_;
    const auto same = std::ranges::find_if(spaces, is_own);
    last_space_ = static_cast<std::uint32_t>(same - spaces.begin());
    if (same == spaces.end()) {
      ReportSpace& space = spaces.emplace_back();
      space.template_name = template_name;
      for (const auto& [name, value] : configuration.entries()) space.parameters.push_back(name);
    }
    return last_space_;
  }

  std::uint32_t detail_of(std::string_view detail) {
    const std::string text(detail.substr(0, kMaxDetail));
    const auto [known, is_new] =
        details_.try_emplace(text, static_cast<std::uint32_t>(report_.details.size()));
    if (is_new) report_.details.push_back(text);
    return known->second;
  }

  ReportRun& run_of(const RunInfo& run) {
    const auto [known, is_new] = runs_.try_emplace(&run, report_.runs.size());
    if (is_new) report_.runs.push_back({.info = run});
    return report_.runs[known->second];
  }

  static constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();

  const KernelSet& kernels_;
  ReportData& report_;
  std::map<std::pair<const TrialScope*, const Problem*>, std::size_t> sizes_;
  std::unordered_map<std::string, std::uint32_t> details_;
  std::map<const RunInfo*, std::size_t> runs_;
  std::uint32_t last_space_ = 0;
};

// In the order of the template's parameters, which the database does not keep, where the program
// has the template.
Configuration in_order(const KernelSet& kernels, const Winner& winner) {
  const KernelTemplate* const kernel = kernels.find(winner.template_name);
  if (kernel == nullptr) return winner.configuration;
  try {
    return kernel->space.validated(winner.configuration);
  } catch (const UsageError&) {  // of an earlier version of the template
    return winner.configuration;
  }
}

ReportBest best_of(const KernelSet& kernels, const Winner& winner) {
  return {.template_name = winner.template_name,
          .configuration = to_string(in_order(kernels, winner)),
          .median_us = winner.median_us,
          .low_us = winner.low_us,
          .high_us = winner.high_us,
          .confirmed = winner.confirmed};
}

void add_fastest_trial(ReportSize& size, const std::vector<ReportSpace>& spaces) {
  const auto fastest =
      std::ranges::min_element(size.trials, [](const ReportTrial& a, const ReportTrial& b) {
        return std::pair(!a.ok(), a.median_us) < std::pair(!b.ok(), b.median_us);
      });
  if (fastest == size.trials.end() || !fastest->ok()) return;
  const ReportSpace& space = spaces[fastest->space];
  size.best = {.template_name = space.template_name,
               .configuration = space.configuration(fastest->place),
               .median_us = fastest->median_us,
               .low_us = fastest->median_us,
               .high_us = fastest->median_us};
}

// Adds the winner of each size, with the time of the library that it was compared with; where there
// is no winner, the fastest trial.
void add_winners(const KernelSet& kernels, ReportData& report, const std::vector<Winner>& winners,
                 const std::string& template_name) {
  std::map<std::pair<std::string, Problem>, const Winner*> best;
  for (const Winner& winner : winners) {
    if (!template_name.empty() && winner.template_name != template_name) continue;
    const Winner*& known = best[{winner.device_class, winner.problem}];
    if (known == nullptr || comparable_us(winner) < comparable_us(*known)) known = &winner;
  }
  for (ReportSize& size : report.sizes) {
    ReportDevice& device = report.devices[size.device];
    const auto found = best.find({device.device_class, size.problem});
    if (found == best.end()) {
      add_fastest_trial(size, report.spaces);
      continue;
    }
    size.best = best_of(kernels, *found->second);
    size.baseline = found->second->baseline;
  }
}

}  // namespace

std::string ReportSpace::configuration(std::uint32_t place) const {
  std::string text;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "" : ",", parameters[i], value(place, i));
  }
  return text;
}

std::size_t ReportSize::correct() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(trials, [](const ReportTrial& trial) { return trial.ok(); }));
}

double ReportSize::fastest_us() const {
  double fastest = std::numeric_limits<double>::infinity();
  for (const ReportTrial& trial : trials) {
    if (trial.ok()) fastest = std::min(fastest, trial.median_us);
  }
  return fastest;
}

std::vector<std::pair<std::size_t, double>> ReportSize::convergence() const {
  std::vector<std::pair<std::size_t, double>> steps;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!trials[i].ok() || (!steps.empty() && trials[i].median_us >= steps.back().second)) continue;
    steps.emplace_back(i + 1, trials[i].median_us);
  }
  return steps;
}

double ReportSize::limit(const DeviceRates& rates) const {
  return std::min(rates.fma_gflops, work.operations / work.bytes * rates.copy_gbps);
}

ReportData read_report(const KernelSet& kernels, const TuningDatabase& database,
                       const ResultFilter& filter, const std::string& template_name) {
  ReportData report;
  report.database = database.path().filename().string();
  Collector collector(kernels, report);
  database.visit_trials(filter, template_name, [&](const TrialRow& row) { collector.add(row); });
  for (ReportDevice& device : report.devices) {
    device.rates = database.rates(device.device_class, device.environment);
  }
  add_winners(kernels, report, database.winners(filter), template_name);
  std::ranges::sort(report.sizes, [](const ReportSize& a, const ReportSize& b) {
    return std::tie(a.device, a.problem) < std::tie(b.device, b.problem);
  });
  return report;
}

std::vector<FailureCount> count_failures(const ReportData& report) {
  std::map<std::pair<TrialStatus, std::string>, FailureCount> counts;
  for (const ReportSize& size : report.sizes) {
    for (const ReportTrial& trial : size.trials) {
      if (trial.status == TrialStatus::ok) continue;
      const std::string& name = report.spaces[trial.space].template_name;
      FailureCount& count = counts[{trial.status, name}];
      if (count.count++ > 0) continue;
      count.status = trial.status;
      count.template_name = name;
      count.example = report.details[trial.detail];
    }
  }
  std::vector<FailureCount> failures;
  for (auto& [key, count] : counts) failures.push_back(std::move(count));
  std::ranges::stable_sort(
      failures, [](const FailureCount& a, const FailureCount& b) { return a.count > b.count; });
  return failures;
}

}  // namespace autotune
