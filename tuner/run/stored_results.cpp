#include "tuner/run/stored_results.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/chrono.h>

#include "autotune/error.hpp"

#include "core/hash.hpp"
#include "tuner/run/finals.hpp"
#include "core/statistics.hpp"

namespace autotune {

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

StoredResults::StoredResults(TuningDatabase& database, const DeviceInfo& device,
                             Environment environment, const std::vector<CandidateSpace>& spaces,
                             std::string run_guid)
    : database_(database),
      device_(device),
      environment_(std::move(environment)),
      spaces_(spaces),
      run_guid_(std::move(run_guid)),
      rates_(database.rates(device.silicon_class(), environment_)) {}

void StoredResults::put_rates(const DeviceRates& rates) {
  rates_ = rates;
  database_.put_rates(device_.silicon_class(), environment_, rates);
}

TrialScope StoredResults::scope_of(const KernelTemplate& kernel) const {
  return {device_.silicon_class(), kernel.name, kernel.interface_number,
          content_hash(kernel.source), environment_};
}

void StoredResults::load_winners() {
  winners_.clear();
  for (Winner& winner : database_.winners(device_.silicon_class(), "")) {
    const auto space = std::find_if(spaces_.begin(), spaces_.end(), [&](const CandidateSpace& s) {
      return s.kernel->name == winner.template_name &&
             s.kernel->interface_number == winner.interface_number;
    });
    if (space == spaces_.end()) continue;
    try {
      // JSON keeps parameters in alphabetical order; here they are in the template's.
      winner.configuration = space->kernel->space.validated(winner.configuration);
      for (Configuration& tie : winner.ties) tie = space->kernel->space.validated(tie);
      winners_.push_back(std::move(winner));
    } catch (const UsageError&) {
      continue;  // no configuration of this space: as if it were not there
    }
  }
}

void StoredResults::load_trials(std::vector<Lane>& lanes) {
  if (last_rows_.empty()) {
    const std::int64_t last_row = database_.last_trial_row();
    for (Lane& lane : lanes) {
      for (Trial& trial : database_.trials(scope_of(lane.kernel()), lane.problem())) {
        lane.record_known(std::move(trial));
      }
      last_rows_[&lane.kernel()] = last_row;
    }
    return;
  }
  for (auto& [kernel, last_row] : last_rows_) {
    for (const Trial& trial : database_.trials_after(last_row, scope_of(*kernel), run_guid_)) {
      for (Lane& lane : lanes) {
        if (&lane.kernel() == kernel && lane.problem() == trial.problem) lane.record_known(trial);
      }
    }
  }
}

std::optional<Winner> StoredResults::winner(const Lane& lane) const {
  for (const Winner& winner : winners_) {
    if (winner.problem == lane.problem() && winner.template_name == lane.kernel().name) {
      return winner;
    }
  }
  return std::nullopt;
}

std::optional<Winner> StoredResults::winner_of_today(const Lane& lane) const {
  std::optional<Winner> stored = winner(lane);
  if (stored && stored->environment != environment_) stored.reset();
  return stored;
}

std::vector<Configuration> StoredResults::aged_finalists(const Lane& lane) const {
  const std::optional<Winner> stored = winner(lane);
  if (!stored) return {};
  std::vector<Configuration> finalists = {stored->configuration};
  finalists.insert(finalists.end(), stored->ties.begin(), stored->ties.end());
  TrialScope scope = scope_of(lane.kernel());
  scope.environment = stored->environment;
  scope.source_hash = stored->source_hash;
  std::vector<Trial> trials = database_.trials(scope, lane.problem());
  std::erase_if(trials, [](const Trial& trial) { return !trial.ok(); });
  std::sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) {
    return a.measurement.median_us < b.measurement.median_us;
  });
  for (const Trial& trial : trials) finalists.push_back(trial.configuration);
  return finalists;
}

std::optional<Winner> StoredResults::known_best(const std::vector<Lane*>& lanes, bool fresh,
                                                bool missed) const {
  std::optional<Winner> best;
  const auto consider = [&](Winner candidate) {
    if (!best || comparable_us(candidate) < comparable_us(*best)) best = std::move(candidate);
  };
  for (const Lane* lane : lanes) {
    const std::optional<Winner> stored = winner_of_today(*lane);
    const Trial* trial = lane->best();
    const bool is_beaten = missed && stored && trial != nullptr &&
                           kFinalistMargin * trial->measurement.median_us < stored->median_us;
    if (!fresh && stored && !is_beaten && lane->space().index_of(stored->configuration)) {
      consider(*stored);
    } else if (trial != nullptr) {
      consider(winner_from(*trial, lane->kernel()));
    }
  }
  return best;
}

Winner StoredResults::winner_from(const Trial& trial, const KernelTemplate& kernel) const {
  Winner winner;
  winner.silicon_class = device_.silicon_class();
  winner.device_label = device_.label;
  winner.problem = trial.problem;
  winner.template_name = kernel.name;
  winner.interface_number = kernel.interface_number;
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
  return winner;
}

bool StoredResults::may_store(const Winner& winner, const std::vector<Lane*>& lanes) const {
  return std::none_of(lanes.begin(), lanes.end(), [&](const Lane* lane) {
    const std::optional<Winner> stored = this->winner(*lane);
    return stored && stored->template_name == winner.template_name &&
           stored->environment == environment_ && stored->source_hash == winner.source_hash &&
           !lane->space().index_of(stored->configuration) && stored->median_us < winner.median_us;
  });
}

}  // namespace autotune
