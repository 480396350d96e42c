// The results that the database has for the spaces of a run, in the run's environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/winner.hpp"
#include "db/tuning_database.hpp"
#include "tuner/run/search_task.hpp"

namespace autotune {

// The current time in the form in which it is stored.
[[nodiscard]] std::string utc_now();

// Belongs to one thread. All references outlive this object.
class StoredResults {
 public:
  StoredResults(TuningDatabase& database, const DeviceInfo& device, Environment environment,
                const std::vector<CandidateSpace>& spaces);

  [[nodiscard]] const Environment& environment() const { return environment_; }
  // The scope that the template's trials are stored under.
  [[nodiscard]] TrialScope scope_of(const KernelTemplate& kernel) const;

  // The device's measured rates; empty if they were not measured.
  [[nodiscard]] const std::optional<DeviceRates>& rates() const { return rates_; }
  // Sets rates that were measured now, and returns what is to be stored of them.
  StoredRates set_rates(const DeviceRates& rates);

  void load_winners();

  // The stored winner of the task's problem and template, from any environment. Its configurations
  // have their parameters in the order of the space.
  [[nodiscard]] std::optional<Winner> winner(const SearchTask& task) const;
  // The stored winner, but only from this environment.
  [[nodiscard]] std::optional<Winner> current_winner(const SearchTask& task) const;
  // The configurations from which the task's winner of another environment was chosen: its
  // finalists first, then the other correct configurations, fastest first.
  [[nodiscard]] std::vector<Configuration> stale_finalists(const SearchTask& task) const;
  // The stored winner of finals. It is the best of the tasks' trials instead if there is no such
  // winner, if the search is fresh, or if finals were `missed` and a trial is clearly faster than
  // the winner.
  [[nodiscard]] std::optional<Winner> known_best(const std::vector<SearchTask*>& tasks, bool fresh,
                                                 bool missed) const;
  // Makes an unconfirmed winner of this environment from a trial.
  [[nodiscard]] Winner winner_from(const Trial& trial, const KernelTemplate& kernel) const;
  // Returns false when the winner would replace a better one from outside the searched part of the
  // space, or when a limit of the error left out configurations of its template. The trials answer
  // for such a limit, then.
  [[nodiscard]] bool may_store(const Winner& winner, const std::vector<SearchTask*>& tasks) const;

 private:
  // The task's current winner, unless its space has it no longer, the task does not accept it, or
  // finals were `missed` and a trial is clearly faster.
  [[nodiscard]] std::optional<Winner> unbeaten_winner(const SearchTask& task, bool missed) const;
  TuningDatabase& database_;
  const DeviceInfo& device_;
  Environment environment_;
  const std::vector<CandidateSpace>& spaces_;
  std::optional<DeviceRates> rates_;
  std::vector<Winner> winners_;  // of this device class, with configurations in these spaces
};

}  // namespace autotune
