// What the database knows of the spaces that a run searches, in the run's environment.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/winner.hpp"
#include "db/tuning_database.hpp"
#include "tuner/run/search_task.hpp"

namespace autotune {

// The time as it is stored.
[[nodiscard]] std::string utc_now();

// Belongs to one thread. All references outlive this.
class StoredResults {
 public:
  // `run_guid`: of the run whose trials need not be read again.
  StoredResults(TuningDatabase& database, const DeviceInfo& device, Environment environment,
                const std::vector<CandidateSpace>& spaces, std::string run_guid);

  [[nodiscard]] const Environment& environment() const { return environment_; }
  // Of the template's trials.
  [[nodiscard]] TrialScope scope_of(const KernelTemplate& kernel) const;

  // What the device does at most, where that was measured.
  [[nodiscard]] const std::optional<DeviceRates>& rates() const { return rates_; }
  void put_rates(const DeviceRates& rates);

  void load_winners();
  // Gives the tasks the trials that other runs stored since the last call; at first, all.
  void load_trials(std::vector<SearchTask>& tasks);

  // The stored winner of the task's problem and template, of whatever environment. Its
  // configurations have their parameters in the order of the space.
  [[nodiscard]] std::optional<Winner> winner(const SearchTask& task) const;
  // The same, of this environment alone.
  [[nodiscard]] std::optional<Winner> current_winner(const SearchTask& task) const;
  // The trials that the task's winner of another environment was chosen from: its finalists first,
  // then the other correct ones, fastest first.
  [[nodiscard]] std::vector<Configuration> stale_finalists(const SearchTask& task) const;
  // The winner of finals, or the best of the tasks' trials where there is none, or the search is a
  // fresh one. Where finals were `missed`, also a trial that is clearly faster than the winner.
  [[nodiscard]] std::optional<Winner> known_best(const std::vector<SearchTask*>& tasks, bool fresh,
                                                 bool missed) const;
  // A winner of this environment, unconfirmed.
  [[nodiscard]] Winner winner_from(const Trial& trial, const KernelTemplate& kernel) const;
  // Whether the winner is worth storing: a search of a part of the space must not displace a better
  // one from outside that part.
  [[nodiscard]] bool may_store(const Winner& winner, const std::vector<SearchTask*>& tasks) const;

 private:
  TuningDatabase& database_;
  const DeviceInfo& device_;
  Environment environment_;
  const std::vector<CandidateSpace>& spaces_;
  std::string run_guid_;
  std::optional<DeviceRates> rates_;
  std::vector<Winner> winners_;  // of this silicon class, with configurations of the spaces
  std::map<const KernelTemplate*, std::int64_t> last_rows_;  // of the trials seen
};

}  // namespace autotune
