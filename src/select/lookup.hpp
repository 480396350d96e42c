// The best known configuration for a device and a problem, and how good the match is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "autotune/match_kind.hpp"

#include "core/device_info.hpp"
#include "core/winner.hpp"
#include "db/result_reader.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {

struct Match {
  Winner winner;
  MatchKind kind = MatchKind::exact;
  std::string explanation;  // one line: why this row, and what differs
  bool shipped = false;     // from the winners that came with the program
};

// Greater for the user's own results than for shipped ones, and for those of runs that were stored
// later; times of measuring count for shipped ones, whose clocks were right.
using Recency = std::tuple<bool, std::int64_t, std::string>;
[[nodiscard]] Recency recency(const Winner& winner, bool shipped);

// Selects results by device: one of this machine, by its class, or any, by its label.
struct DeviceQuery {
  std::reference_wrapper<const KernelSet> kernels;  // whose results count
  std::string device_class;
  std::string label;
  // The environment of the device of this machine; without it a changed driver or NVRTC makes
  // nothing stale.
  std::optional<Environment> environment;
  bool use_shipped = true;          // the winners that came with the program are asked too
  std::optional<double> max_error;  // only results with at most this relative Frobenius error
};

// Answers from the user's database, then from the shipped winners. `database` may be null. Returns
// nullopt when nothing is stored for the device (or, with `exact_only`, for the problem). An exact
// answer reads the results of that problem alone. Otherwise the results of other problems are read,
// nearest problem first and none from very far away, until one is accepted. `serves` accepts a
// winner; without it all are accepted.
[[nodiscard]] std::optional<Match> find_best(const ResultReader* database,
                                             const DeviceQuery& device, const Problem& problem,
                                             bool exact_only,
                                             const std::function<bool(const Winner&)>& serves = {});

// The results of other problems with the same traits, one a problem, nearest problem first: at most
// `count` of those that `serves` accepts.
[[nodiscard]] std::vector<Winner> nearest_winners(const ResultReader* database,
                                                  const DeviceQuery& device, const Problem& problem,
                                                  std::size_t count,
                                                  const std::function<bool(const Winner&)>& serves);

// All winners of a device, one a problem: the user's own first, then shipped ones for problems that
// the user has none of.
[[nodiscard]] std::vector<Match> list_winners(const ResultReader* database,
                                              const DeviceQuery& device);

}  // namespace autotune
