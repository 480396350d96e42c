// A kernel template's search space: parameters with their values, and constraints with names.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autotune/configuration.hpp"

namespace autotune {

struct TuningParameter {
  std::string name;
  std::string meaning;  // one line, with its unit
  std::vector<std::int64_t> values;
  std::string macro = {};  // the macro's name; empty: that of the parameter
};

// A rule that a configuration must meet. The name is what --dry-run counts rejections under.
struct Constraint {
  std::string name;
  std::string meaning;
  std::function<bool(const Configuration&)> holds;
  std::vector<std::string> parameters = {};  // all that the rule looks at; empty: any
};

// The limits of a listing of configurations: spaces that users describe can have any size.
struct EnumerationLimits {
  std::size_t configurations = 20'000'000;
  std::chrono::milliseconds time = std::chrono::seconds(60);
};

// All valid configurations, and how many each constraint rejected. A configuration is counted
// under the first constraint that it breaks, in the order in which they are applied.
struct Enumeration {
  std::vector<Configuration> configurations;
  std::vector<std::pair<std::string, std::size_t>> rejected;
  std::size_t raw_count = 0;
};

// Returns whether both have the same values, in whatever order. Stored ones are sorted by name.
[[nodiscard]] bool same_values(const Configuration& a, const Configuration& b);

// Immutable once built, so safe to share between threads.
class ConfigSpace {
 public:
  // Throws Error when two parameters share a name or one has no values.
  ConfigSpace(std::vector<TuningParameter> parameters, std::vector<Constraint> constraints);

  [[nodiscard]] const std::vector<TuningParameter>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<Constraint>& constraints() const { return constraints_; }

  // The number of all combinations of values, whether constraints allow them or not. Throws
  // UsageError where 64 bits cannot hold it.
  [[nodiscard]] std::size_t raw_count() const;

  // Lists the valid configurations in order of the parameters, the last one changing fastest.
  // `extra` are further constraints (a device's limits, a user's filter), applied after the space's
  // own. A constraint is applied as soon as the parameters that it looks at have values, so the
  // order of the parameters decides how much of a large space is never visited. Its result for the
  // same values of these parameters is kept. Throws UsageError where a limit is passed, with the
  // constraint that is applied too late.
  [[nodiscard]] Enumeration enumerate(const std::vector<Constraint>& extra = {},
                                      const EnumerationLimits& limits = {}) const;

  // Checks a configuration that came from outside: every parameter present once with a value of
  // its set, no unknown names, all constraints met. Returns it in the space's order. Throws
  // UsageError that names the error and the allowed values.
  [[nodiscard]] Configuration validated(const Configuration& configuration) const;

 private:
  class Search;

  // The places of the parameters that the constraint looks at.
  [[nodiscard]] std::vector<std::size_t> looked_at(const Constraint& constraint) const;

  std::vector<TuningParameter> parameters_;
  std::vector<Constraint> constraints_;
  std::shared_ptr<const Configuration::Names> names_;  // shared by its configurations
};

}  // namespace autotune
