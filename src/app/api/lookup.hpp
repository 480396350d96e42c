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
#include "kernel_templates/kernel_registry.hpp"

namespace autotune {

struct Match {
  Winner winner;
  MatchKind kind = MatchKind::exact;
  std::string explanation;  // one line: why this row, and what differs
  bool shipped = false;     // from the winners that came with the program
};

// Whose results are asked for: a device that is here (its class counts), or a label.
struct DeviceQuery {
  std::string device_class;
  std::string label;
  // Of the device that is here; without it nothing is stale.
  std::optional<Environment> environment;
  bool use_shipped = true;  // the winners that came with the program are asked too
  std::string operation;    // whose results are listed; empty: any
  const KernelRegistry* kernels = &built_in_kernels();
};

// Answers from the user's database, and below it from the shipped winners. `database` may be null.
// nullopt when nothing is stored for the device (or, with `exact_only`, for the problem). An exact
// answer reads the results of that problem alone; else problems are read from the nearest one on,
// until one has a result that serves. `serves` says which winners do; all, where it is left out.
[[nodiscard]] std::optional<Match> find_best(const TuningDatabase* database,
                                             const DeviceQuery& device, const Problem& problem,
                                             bool exact_only,
                                             const std::function<bool(const Winner&)>& serves = {});

// All winners of a device, one a problem: the user's own first, then shipped ones for problems that
// the user has none of.
[[nodiscard]] std::vector<Match> list_winners(const TuningDatabase* database,
                                              const DeviceQuery& device);

}  // namespace autotune
