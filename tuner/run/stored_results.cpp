#include "tuner/run/stored_results.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/chrono.h>

#include "autotune/error.hpp"

#include "core/config_space.hpp"
#include "core/hash.hpp"
#include "core/statistics.hpp"
#include "kernel_templates/possible_time.hpp"

namespace autotune {

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

StoredResults::StoredResults(TuningDatabase& database, const DeviceInfo& device,
                             Environment environment, const std::vector<CandidateSpace>& spaces)
    : database_(database),
      device_(device),
      environment_(std::move(environment)),
      spaces_(spaces),
      rates_(database.rates(device.device_class(), environment_)) {}

StoredRates StoredResults::set_rates(const DeviceRates& rates) {
  rates_ = rates;
  return {device_.device_class(), environment_, rates};
}

TrialScope StoredResults::scope_of(const KernelTemplate& kernel) const {
  return {device_.device_class(), kernel.name, kernel.space_version, content_hash(kernel.source),
          environment_};
}

void StoredResults::load_winners() {
  winners_.clear();
  for (Winner& winner : database_.winners({.device_class = device_.device_class()})) {
    const auto space = std::ranges::find_if(spaces_, [&](const CandidateSpace& s) {
      return s.kernel->name == winner.template_name &&
             s.kernel->space_version == winner.space_version;
    });
    if (space == spaces_.end()) continue;
    const bool is_current = winner.environment == environment_;
    if (!is_possible_us(*space->kernel, winner.problem, winner.median_us,
                        is_current ? rates_ : std::nullopt)) {
      continue;
    }
    try {
      // JSON keeps parameters in alphabetical order, and the space in the template's order.
      winner.configuration = space->kernel->space.validated(winner.configuration);
      for (Configuration& tie : winner.ties) tie = space->kernel->space.validated(tie);
      winners_.push_back(std::move(winner));
    } catch (const UsageError&) {
      continue;  // the winner's configuration is not in this space
    }
  }
}

std::optional<Winner> StoredResults::winner(const SearchTask& task) const {
  for (const Winner& winner : winners_) {
    if (winner.problem == task.problem() && winner.template_name == task.kernel().name) {
      return winner;
    }
  }
  return std::nullopt;
}

std::optional<Winner> StoredResults::current_winner(const SearchTask& task) const {
  std::optional<Winner> stored = winner(task);
  if (stored && stored->environment != environment_) stored.reset();
  return stored;
}

std::vector<Configuration> StoredResults::stale_finalists(const SearchTask& task) const {
  const std::optional<Winner> stored = winner(task);
  if (!stored) return {};
  std::vector<Configuration> finalists = {stored->configuration};
  finalists.insert(finalists.end(), stored->ties.begin(), stored->ties.end());
  TrialScope scope = scope_of(task.kernel());
  scope.environment = stored->environment;
  scope.source_hash = stored->source_hash;
  std::vector<Trial> trials = database_.trials(scope, task.problem());
  std::erase_if(trials, [](const Trial& trial) { return !trial.ok(); });
  std::ranges::sort(trials, [](const Trial& a, const Trial& b) {
    return a.measurement.median_us < b.measurement.median_us;
  });
  for (const Trial& trial : trials) finalists.push_back(trial.configuration);
  return finalists;
}

std::optional<Winner> StoredResults::unbeaten_winner(const SearchTask& task, bool missed) const {
  std::optional<Winner> stored = current_winner(task);
  if (!stored || !task.accepts(stored->verification) ||
      !task.space().index_of(stored->configuration)) {
    return std::nullopt;
  }
  const Trial* const trial = task.best();
  const bool is_beaten = missed && trial != nullptr &&
                         kFinalistMargin * trial->measurement.median_us < stored->median_us;
  return is_beaten ? std::nullopt : std::move(stored);
}

std::optional<Winner> StoredResults::known_best(const std::vector<SearchTask*>& tasks, bool fresh,
                                                bool missed) const {
  std::optional<Winner> best;
  const auto consider = [&](Winner candidate) {
    if (!best || comparable_us(candidate) < comparable_us(*best)) best = std::move(candidate);
  };
  std::vector<const SearchTask*> without_winner;
  for (const SearchTask* task : tasks) {
    if (std::optional<Winner> stored = fresh ? std::nullopt : unbeaten_winner(*task, missed)) {
      consider(*std::move(stored));
    } else if (task->best() != nullptr) {
      without_winner.push_back(task);
    }
  }
  // The finals that made the winner had the trials of all templates before them.
  if (best && !missed) return best;
  for (const SearchTask* task : without_winner) {
    consider(winner_from(*task->best(), task->kernel()));
  }
  return best;
}

Winner StoredResults::winner_from(const Trial& trial, const KernelTemplate& kernel) const {
  Winner winner;
  winner.device_class = device_.device_class();
  winner.device_label = device_.label;
  winner.problem = trial.problem;
  winner.template_name = kernel.name;
  winner.space_version = kernel.space_version;
  winner.source_hash = content_hash(kernel.source);
  winner.environment = environment_;
  winner.configuration = trial.configuration;
  winner.median_us = trial.measurement.median_us;
  winner.low_us = winner.high_us = winner.median_us;
  if (!trial.measurement.samples_us.empty()) {
    const Interval interval = median_interval(trial.measurement.samples_us);
    winner.low_us = interval.low;
    winner.high_us = interval.high;
  }
  winner.verification = trial.verification;
  winner.resources = trial.resources;
  winner.rates = rates_;
  winner.note = trial.detail;
  winner.measured_at = utc_now();
  for (const Winner& known : winners_) {  // the same kernel, which a library was timed beside
    if (known.problem == winner.problem && known.template_name == winner.template_name &&
        known.environment == environment_ && known.source_hash == winner.source_hash &&
        same_values(known.configuration, winner.configuration)) {
      winner.baseline = known.baseline;
    }
  }
  return winner;
}

bool StoredResults::may_store(const Winner& winner, const std::vector<SearchTask*>& tasks) const {
  return std::ranges::none_of(tasks, [&](const SearchTask* task) {
    if (task->kernel().name != winner.template_name || task->problem() != winner.problem) {
      return false;
    }
    // A faster configuration may win without a limit of the error.
    if (task->has_rejected()) return true;
    const std::optional<Winner> stored = this->winner(*task);
    return stored && stored->environment == environment_ &&
           stored->source_hash == winner.source_hash &&
           !task->space().index_of(stored->configuration) && stored->median_us < winner.median_us;
  });
}

}  // namespace autotune
