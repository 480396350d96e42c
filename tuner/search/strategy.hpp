// The order in which configurations are tried. A strategy is one file in tuner/search/strategies/
// and its lines in strategies.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autotune/configuration.hpp"

#include "core/prior.hpp"
#include "core/trial.hpp"

namespace autotune {

// Searches the configurations of one problem. Deterministic for a seed and a sequence of calls.
class SearchStrategy {
 public:
  virtual ~SearchStrategy() = default;
  // The index of a configuration to try next, each at most once; nullopt when none is left. Up to a
  // few dozen may be asked for before the first is reported.
  virtual std::optional<std::size_t> next() = 0;
  // Takes the trial of a configuration, just made or known from the database. A configuration that
  // is reported before next() named it is not named any more.
  virtual void report(std::size_t index, const Trial& trial) = 0;
};

// The space that a strategy searches, valid for the strategy's life.
struct SearchSpace {
  const std::vector<Configuration>* configurations = nullptr;
  std::uint64_t seed = 1;
  Prior estimate = {};  // empty without a prediction
};

// Names for --strategy, in alphabetical order.
[[nodiscard]] std::vector<std::string> strategy_names();
// Throws UsageError for an unknown name.
[[nodiscard]] std::unique_ptr<SearchStrategy> make_strategy(const std::string& name,
                                                            const SearchSpace& space);

}  // namespace autotune
