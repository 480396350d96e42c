#include "cli/output/trial_report.hpp"

#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/terminal.hpp"

namespace autotune {

std::string failure_text(const KernelSet& kernels, const Trial& trial) {
  const std::string size = size_text(kernels, trial.problem);
  return trial.detail.starts_with(size) ? trial.detail : size + ": " + trial.detail;
}

void print_trial_notes(const KernelSet& kernels, const std::vector<Trial>& trials,
                       std::size_t wanted) {
  std::set<std::string> said;
  for (const Trial& trial : trials) {
    if (trial.ok()) continue;
    const std::string text = failure_text(kernels, trial);
    const bool is_too_large = trial.status == TrialStatus::out_of_memory;
    if (is_too_large && !said.insert(text).second) continue;
    say(text);
  }
  if (trials.size() < wanted) {
    say(fmt::format("interrupted: {} of {} were measured", trials.size(), wanted));
  }
}

void print_trials(const char* command, const DeviceInfo& device, const std::vector<Trial>& trials,
                  std::size_t wanted, const Options& options) {
  auto document = results_document(command, &device, device.label);
  for (const Trial& trial : trials) {
    document["results"].push_back(result_entry(options.kernels(), trial));
  }
  document["measured"] = trials.size();
  document["interrupted"] = trials.size() < wanted;
  if (options.csv) {
    fmt::print("{}", results_csv(document));
  } else {
    print_document(document);
  }
}

int exit_code_for(const std::vector<Trial>& trials, std::size_t wanted) {
  if (trials.size() < wanted) return exit_code::kInterrupted;
  for (const Trial& trial : trials) {
    if (trial.status == TrialStatus::out_of_memory) return exit_code::kEnvironment;
    if (!trial.ok()) return exit_code::kNoneCorrect;
  }
  return exit_code::kDone;
}

}  // namespace autotune
