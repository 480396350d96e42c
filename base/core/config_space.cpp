#include "core/config_space.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

template <class Item>
std::string list_of(const std::vector<Item>& items) {
  return fmt::format("{}", fmt::join(items, ", "));
}

const Constraint* first_broken(const std::vector<Constraint>& constraints,
                               const Configuration& configuration) {
  const auto broken = std::find_if(constraints.begin(), constraints.end(),
                                   [&](const Constraint& c) { return !c.holds(configuration); });
  return broken == constraints.end() ? nullptr : &*broken;
}

}  // namespace

bool same_values(const Configuration& a, const Configuration& b) {
  const auto entries = a.entries();
  return a.values().size() == b.values().size() &&
         std::all_of(entries.begin(), entries.end(), [&](const auto& entry) {
           return b.contains(entry.first) && b.at(entry.first) == entry.second;
         });
}

ConfigSpace::ConfigSpace(std::vector<TuningParameter> parameters,
                         std::vector<Constraint> constraints)
    : parameters_(std::move(parameters)), constraints_(std::move(constraints)) {
  std::set<std::string> seen;
  Configuration::Names names;
  for (const TuningParameter& parameter : parameters_) {
    if (parameter.values.empty()) throw Error("parameter " + parameter.name + " has no values");
    if (!seen.insert(parameter.name).second) {
      throw Error("parameter " + parameter.name + " is named twice");
    }
    names.push_back(parameter.name);
  }
  names_ = std::make_shared<const Configuration::Names>(std::move(names));
}

std::size_t ConfigSpace::raw_count() const {
  std::size_t count = 1;
  for (const TuningParameter& parameter : parameters_) {
    if (__builtin_mul_overflow(count, parameter.values.size(), &count)) {
      throw UsageError(fmt::format(
          "the {} parameters have more than 2^64 combinations of values: leave values out",
          parameters_.size()));
    }
  }
  return count;
}

// One listing, which walks through the values of one parameter after the other.
class ConfigSpace::Search {
 public:
  Search(const ConfigSpace& space, std::vector<Constraint> constraints,
         const EnumerationLimits& limits)
      : space_(space),
        constraints_(std::move(constraints)),
        limits_(limits),
        applied_at_(space.parameters_.size() + 1),
        chosen_(space.parameters_.size()),
        configuration_(space.names_, {}) {
    configuration_.values_.reserve(space.parameters_.size());
    result_.raw_count = space.raw_count();
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      result_.rejected.emplace_back(constraints_[i].name, 0);
      add(i);
    }
  }

  Enumeration run() {
    visit(result_.raw_count);
    return std::move(result_);
  }

 private:
  enum class Verdict : std::uint8_t { unknown, holds, broken };

  struct Applied {
    std::size_t number = 0;  // among the constraints
    std::size_t times = 0;
    struct Factor {
      std::size_t parameter;
      std::size_t stride;
    };
    std::vector<Factor> factors;    // of the place of a verdict
    std::vector<Verdict> verdicts;  // for all values that the rule looks at; empty: none are kept
  };

  // Has the constraint applied where the last parameter that it looks at has got its value.
  void add(std::size_t number) {
    Applied applied{.number = number};
    std::size_t needed = 0;
    std::size_t verdicts = 1;
    constexpr std::size_t kMostVerdicts = std::size_t{1} << 20;
    for (const std::size_t parameter : space_.looked_at(constraints_[number])) {
      needed = std::max(needed, parameter + 1);
      applied.factors.push_back({parameter, verdicts});
      verdicts = std::min(verdicts, kMostVerdicts) * space_.parameters_[parameter].values.size();
    }
    if (applied.factors.empty()) needed = space_.parameters_.size();
    std::size_t visits = 1;
    for (std::size_t i = 0; i < needed; ++i) visits *= space_.parameters_[i].values.size();
    // Verdicts that are hardly asked for again would only take memory.
    if (!applied.factors.empty() && verdicts <= kMostVerdicts && verdicts <= visits / 4) {
      applied.verdicts.resize(verdicts);
    }
    applied_at_[needed].push_back(std::move(applied));
  }

  bool holds(Applied& applied) {
    constexpr std::size_t kBetweenLooksAtTheClock = 4096;
    if (++applied.times % kBetweenLooksAtTheClock == 0) check_time();
    const auto& rule = constraints_[applied.number].holds;
    if (applied.verdicts.empty()) return rule(configuration_);
    std::size_t place = 0;
    for (const auto& [parameter, stride] : applied.factors) place += chosen_[parameter] * stride;
    Verdict& verdict = applied.verdicts[place];
    if (verdict == Verdict::unknown) {
      verdict = rule(configuration_) ? Verdict::holds : Verdict::broken;
    }
    return verdict == Verdict::holds;
  }

  // `remaining` combinations have the values that are chosen so far.
  void visit(std::size_t remaining) {
    std::vector<std::int64_t>& values = configuration_.values_;
    const std::size_t depth = values.size();
    for (Applied& applied : applied_at_[depth]) {
      if (holds(applied)) continue;
      result_.rejected[applied.number].second += remaining;
      return;
    }
    if (depth == chosen_.size()) return keep();
    const std::vector<std::int64_t>& choices = space_.parameters_[depth].values;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      chosen_[depth] = i;
      values.push_back(choices[i]);
      visit(remaining / choices.size());
      values.pop_back();
    }
  }

  void keep() {
    if (result_.configurations.size() == limits_.configurations) {
      throw UsageError(
          fmt::format("more than {} of {} configurations are valid: leave values out, or add "
                      "constraints",
                      limits_.configurations, result_.raw_count));
    }
    result_.configurations.push_back(configuration_);
  }

  void check_time() const {
    if (std::chrono::steady_clock::now() - begin_ < limits_.time) return;
    const Applied* late = nullptr;
    for (const auto& all : applied_at_) {
      for (const Applied& each : all) {
        if (late == nullptr || each.times > late->times) late = &each;
      }
    }
    throw UsageError(fmt::format(
        "the valid ones of {} configurations were not all found within {} s: the constraint {} is "
        "applied too late, so put the parameters that it looks at first, or leave values out",
        result_.raw_count, std::chrono::duration<double>(limits_.time).count(),
        constraints_[late->number].name));
  }

  const ConfigSpace& space_;
  std::vector<Constraint> constraints_;
  EnumerationLimits limits_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  // By the number of parameters that have values then.
  std::vector<std::vector<Applied>> applied_at_;
  std::vector<std::size_t> chosen_;  // which of its values each parameter has
  Configuration configuration_;      // the values that are chosen so far
  Enumeration result_;
};

Enumeration ConfigSpace::enumerate(const std::vector<Constraint>& extra,
                                   const EnumerationLimits& limits) const {
  std::vector<Constraint> all = constraints_;
  all.insert(all.end(), extra.begin(), extra.end());
  return Search(*this, std::move(all), limits).run();
}

std::vector<std::size_t> ConfigSpace::looked_at(const Constraint& constraint) const {
  std::vector<std::size_t> places;
  for (const std::string& name : constraint.parameters) {
    const auto place = std::find_if(parameters_.begin(), parameters_.end(),
                                    [&](const TuningParameter& p) { return p.name == name; });
    if (place == parameters_.end()) {
      throw Error("constraint " + constraint.name + " looks at an unknown parameter " + name);
    }
    places.push_back(static_cast<std::size_t>(place - parameters_.begin()));
  }
  return places;
}

Configuration ConfigSpace::validated(const Configuration& configuration) const {
  std::vector<std::int64_t> values;
  for (const TuningParameter& parameter : parameters_) {
    if (!configuration.contains(parameter.name)) {
      throw UsageError("configuration lacks " + parameter.name + ": give one of " +
                       list_of(parameter.values));
    }
    const std::int64_t value = configuration.at(parameter.name);
    if (std::find(parameter.values.begin(), parameter.values.end(), value) ==
        parameter.values.end()) {
      throw UsageError(parameter.name + "=" + std::to_string(value) +
                       " is not in the space: use one of " + list_of(parameter.values));
    }
    values.push_back(value);
  }
  Configuration ordered(names_, std::move(values));
  for (const auto& [name, value] : configuration.entries()) {
    if (!ordered.contains(name)) {
      throw UsageError("configuration names an unknown parameter " + name + ": use one of " +
                       list_of(*names_));
    }
  }
  if (const Constraint* broken = first_broken(constraints_, ordered)) {
    const bool says_more = broken->meaning != broken->name;
    throw UsageError("configuration breaks the constraint " + broken->name +
                     (says_more ? ": " + broken->meaning : ""));
  }
  return ordered;
}

}  // namespace autotune
