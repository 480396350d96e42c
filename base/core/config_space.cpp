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
  for (const TuningParameter& parameter : parameters_) count *= parameter.values.size();
  return count;
}

Enumeration ConfigSpace::enumerate(const std::vector<Constraint>& extra) const {
  std::vector<Constraint> all = constraints_;
  all.insert(all.end(), extra.begin(), extra.end());
  Enumeration result;
  result.raw_count = raw_count();
  for (const Constraint& constraint : all) result.rejected.emplace_back(constraint.name, 0);

  // For each number of parameters that have values, the constraints that can then be applied.
  std::vector<std::vector<std::size_t>> decidable(parameters_.size() + 1);
  for (std::size_t i = 0; i < all.size(); ++i) decidable[parameters_needed(all[i])].push_back(i);

  Configuration configuration(names_, {});  // the values that are chosen so far
  std::vector<std::int64_t>& values = configuration.values_;
  values.reserve(parameters_.size());
  const auto visit = [&](const auto& self, std::size_t remaining) -> void {
    for (const std::size_t i : decidable[values.size()]) {
      if (all[i].holds(configuration)) continue;
      result.rejected[i].second += remaining;
      return;
    }
    if (values.size() == parameters_.size()) {
      result.configurations.push_back(configuration);
      return;
    }
    const TuningParameter& next = parameters_[values.size()];
    for (const std::int64_t value : next.values) {
      values.push_back(value);
      self(self, remaining / next.values.size());
      values.pop_back();
    }
  };
  visit(visit, result.raw_count);
  return result;
}

// The parameters up to the last one that the constraint looks at.
std::size_t ConfigSpace::parameters_needed(const Constraint& constraint) const {
  if (constraint.parameters.empty()) return parameters_.size();
  std::size_t needed = 0;
  for (const std::string& name : constraint.parameters) {
    const auto place = std::find_if(parameters_.begin(), parameters_.end(),
                                    [&](const TuningParameter& p) { return p.name == name; });
    if (place == parameters_.end()) {
      throw Error("constraint " + constraint.name + " looks at an unknown parameter " + name);
    }
    needed = std::max(needed, static_cast<std::size_t>(place - parameters_.begin()) + 1);
  }
  return needed;
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
    throw UsageError("configuration breaks the constraint " + broken->name + ": " +
                     broken->meaning);
  }
  return ordered;
}

}  // namespace autotune
