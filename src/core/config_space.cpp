#include "core/config_space.hpp"

#include <algorithm>
#include <set>

#include "autotune/error.hpp"

namespace autotune {
namespace {

std::string list_of(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t value : values) {
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  }
  return text;
}

const Constraint* first_broken(const std::vector<Constraint>& constraints,
                               const Configuration& configuration) {
  const auto broken = std::find_if(constraints.begin(), constraints.end(),
                                   [&](const Constraint& c) { return !c.holds(configuration); });
  return broken == constraints.end() ? nullptr : &*broken;
}

}  // namespace

ConfigSpace::ConfigSpace(std::vector<TuningParameter> parameters,
                         std::vector<Constraint> constraints)
    : parameters_(std::move(parameters)), constraints_(std::move(constraints)) {
  std::set<std::string> names;
  for (const TuningParameter& parameter : parameters_) {
    if (parameter.values.empty()) throw Error("parameter " + parameter.name + " has no values");
    if (!names.insert(parameter.name).second) {
      throw Error("parameter " + parameter.name + " is named twice");
    }
  }
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

  std::vector<Configuration::Entry> entries;
  for (const TuningParameter& parameter : parameters_) entries.emplace_back(parameter.name, 0);
  for (std::size_t index = 0; index < result.raw_count; ++index) {
    std::size_t rest = index;
    for (std::size_t p = parameters_.size(); p-- > 0;) {
      const std::vector<std::int64_t>& values = parameters_[p].values;
      entries[p].second = values[rest % values.size()];
      rest /= values.size();
    }
    Configuration configuration(entries);
    const Constraint* broken = first_broken(all, configuration);
    if (broken != nullptr) {
      ++result.rejected[static_cast<std::size_t>(broken - all.data())].second;
    } else {
      result.configurations.push_back(std::move(configuration));
    }
  }
  return result;
}

Configuration ConfigSpace::validated(const Configuration& configuration) const {
  Configuration ordered;
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
    ordered.set(parameter.name, value);
  }
  for (const auto& entry : configuration.entries()) {
    if (!ordered.contains(entry.first)) {
      throw UsageError("configuration names an unknown parameter " + entry.first);
    }
  }
  if (const Constraint* broken = first_broken(constraints_, ordered)) {
    throw UsageError("configuration breaks the constraint " + broken->name + ": " +
                     broken->meaning);
  }
  return ordered;
}

}  // namespace autotune
