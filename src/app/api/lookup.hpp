// The best known configuration for a device and a problem, and how good the match is.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autotune/match_kind.hpp"

#include "core/device_info.hpp"
#include "core/winner.hpp"
#include "db/tuning_database.hpp"

namespace autotune {

struct Match {
  Winner winner;
  MatchKind kind = MatchKind::exact;
  std::string explanation;  // one line: why this row, and what differs
  bool shipped = false;     // from the winners that came with the program
};

// Whose results are asked for: a device that is here (its silicon class counts), or a label.
struct DeviceQuery {
  std::string device_class;
  std::string label;
  std::optional<Environment>
      environment;          // of the device that is here; without it nothing is stale
  bool use_shipped = true;  // false: the winners that came with the program are left out
};

// Answers from the user's database, and below it from the shipped winners. `database` may be null.
// nullopt when nothing is stored for the device (or, with `exact_only`, for the problem).
// serves: which winners come into question; all, where it is left out.
[[nodiscard]] std::optional<Match> find_best(const TuningDatabase* database,
                                             const DeviceQuery& device, const GemmProblem& problem,
                                             bool exact_only,
                                             const std::function<bool(const Winner&)>& serves = {});

// All winners of a device, one a problem: the user's own first, then shipped ones for problems the
// user has none of.
[[nodiscard]] std::vector<Match> list_winners(const TuningDatabase* database,
                                              const DeviceQuery& device);

}  // namespace autotune
