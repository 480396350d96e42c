// What was read of a database once, kept in memory.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "db/result_reader.hpp"

namespace autotune {

// One thread at a time.
class RememberedResults : public ResultReader {
 public:
  // From now on reads what is not known from `file`, which outlives this or the next call; from
  // nowhere if it is nullptr.
  void read_from(const ResultReader* file) { file_ = file; }

  [[nodiscard]] std::vector<Winner> winners(const ResultFilter& filter) const override;
  [[nodiscard]] std::vector<Winner> best_trials(const ResultFilter& filter) const override;
  void visit_problems(const ResultFilter& filter,
                      const std::function<void(const Problem&)>& visit) const override;

 private:
  // All of a ResultFilter.
  using Key = std::tuple<std::string, std::string, std::string, Problem, std::optional<double>>;
  using Results = std::map<Key, std::vector<Winner>>;
  using Read = std::vector<Winner> (ResultReader::*)(const ResultFilter&) const;

  static Key key_of(const ResultFilter& filter);
  // Returns whether the list of problems is known, and lacks the filter's.
  [[nodiscard]] bool is_listed_as_absent(const ResultFilter& filter) const;
  [[nodiscard]] std::vector<Winner> results(Results& known, const ResultFilter& filter,
                                            Read read) const;

  const ResultReader* file_ = nullptr;
  mutable Results winners_;
  mutable Results best_trials_;
  mutable std::map<Key, std::set<Problem>> problems_;
};

}  // namespace autotune
