// The requests that were completed, so that repeating one of them measures nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/tuning_database.hpp"
#include "tuner/run/request.hpp"
#include "tuner/run/search_task.hpp"

namespace autotune {

enum class SearchEnd { exhausted, good_enough, budget, stopped };

// Completion is kept for each task (a problem in a template's space). There are four kinds: the
// space was exhausted, by any strategy; a strategy's budget was used up; a search without a limit
// of its own was good enough; or one of these happened in another environment.
class Completion {
 public:
  // `request` has its effective strategy and budget; without a limit of its own, it
  // `ends_by_default`. All references outlive this object.
  Completion(TuningDatabase& database, const TuneRequest& request, bool ends_by_default,
             std::string device_class, const Environment& environment);

  // How the task ended, if it was completed. Its trials may be lost since then.
  [[nodiscard]] std::optional<SearchEnd> end_of(const SearchTask& task) const;
  // Returns whether the task was completed with another driver, NVRTC, template source or protocol.
  [[nodiscard]] bool complete_in_another_environment(const SearchTask& task) const;
  // The rows that record that the task was completed.
  [[nodiscard]] std::vector<CompletedRequest> rows(const SearchTask& task, SearchEnd end) const;

 private:
  [[nodiscard]] std::string space_key(const SearchTask& task) const;
  [[nodiscard]] std::string environment_key(const SearchTask& task) const;
  [[nodiscard]] std::string strategy_key() const;
  // The templates share a search that is good enough, so some may have few trials.
  [[nodiscard]] std::string default_key() const;
  // How the search ended that is stored for a key, which lacks the strategy, and covers the
  // request.
  [[nodiscard]] std::optional<SearchEnd> covering(const std::string& key) const;
  [[nodiscard]] bool covers_budget(const std::string& key) const;

  TuningDatabase& database_;
  const TuneRequest& request_;
  bool ends_by_default_;
  std::string device_class_;
  const Environment& environment_;
};

}  // namespace autotune
