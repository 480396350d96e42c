#include "tuner/replay/recorded_space.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "db/shipped_winners.hpp"
#include "kernel_templates/cost_prior.hpp"
#include "tuner/replay/objective.hpp"
#include "tuner/replay/parameter_values.hpp"
#include "tuner/replay/recorded_result.hpp"

namespace autotune {
namespace {

// The parameters of a space, in the order of their first appearance, with their values.
struct Parameters {
  std::shared_ptr<const Configuration::Names> names;
  std::map<std::string, std::size_t> places;  // of the names
  std::vector<ParameterValues> values;
};

Parameters parameters_of(const std::deque<RecordedResult>& results) {
  Configuration::Names names;
  Parameters parameters;
  for (const RecordedResult& result : results) {
    const RecordedConfiguration& configuration = result.configuration;
    for (std::size_t i = 0; i < configuration.names().size(); ++i) {
      const std::string& name = configuration.names()[i];
      const auto [place, is_new] = parameters.places.try_emplace(name, names.size());
      if (is_new) names.push_back(name);
      if (is_new) parameters.values.emplace_back();
      parameters.values[place->second].add(configuration.values()[i]);
    }
  }
  for (ParameterValues& values : parameters.values) values.rank();
  parameters.names = std::make_shared<const Configuration::Names>(std::move(names));
  return parameters;
}

std::string space_name(const RecordedResult& result, const std::string& path, bool is_whole,
                       const KernelSet& kernels) {
  if (!result.problem) {
    return std::filesystem::path(path).filename().string() + (is_whole ? "" : " (unfinished)");
  }
  const Operation* const operation = kernels.operation_of(*result.problem);
  if (operation == nullptr) {
    throw UsageError(fmt::format("{}: no kernel here computes {}", path, result.problem->key()));
  }
  return operation->text(*result.problem) + " " + result.template_name +
         (result.device.empty() ? "" : " on " + result.device);
}

// Thrown where a configuration lacks a parameter that others of its space have.
struct MissingParameter {};

std::vector<std::int64_t> values_of(const RecordedConfiguration& configuration,
                                    const Parameters& parameters) {
  std::vector<std::int64_t> values(parameters.values.size());
  std::vector<bool> has(values.size());
  for (std::size_t i = 0; i < configuration.names().size(); ++i) {
    const std::size_t place = parameters.places.at(configuration.names()[i]);
    values[place] = parameters.values[place].number(configuration.values()[i]);
    has[place] = true;
  }
  if (std::ranges::find(has, false) != has.end()) throw MissingParameter();
  return values;
}

Trial trial_of(const RecordedResult& result, const Parameters& parameters) {
  Trial trial{
      .problem = result.problem.value_or(Problem()),
      .template_name = result.template_name,
      .configuration = Configuration(parameters.names, values_of(result.configuration, parameters)),
      .status = result.status};
  trial.measurement.median_us = result.cost.value_or(0);
  if (trial.ok() && !result.cost) trial.status = TrialStatus::launch_failed;
  return trial;
}

// Forgets each result once its trial is made, since all of them would take as much memory as the
// space.
RecordedSpace space_of(std::deque<RecordedResult> results) {
  const Parameters parameters = parameters_of(results);
  RecordedSpace space;
  space.problem = results.front().problem;
  space.template_name = results.front().template_name;
  space.device = results.front().device;
  const auto is_less = [&trials = space.trials](std::size_t a, std::size_t b) {
    return trials[a].configuration < trials[b].configuration;
  };
  std::set<std::size_t, decltype(is_less)> places(is_less);
  space.trials.reserve(results.size());
  for (; !results.empty(); results.pop_front()) {
    space.trials.push_back(trial_of(results.front(), parameters));
    const auto [place, is_new] = places.insert(space.trials.size() - 1);
    if (is_new) continue;
    space.trials[*place] = std::move(space.trials.back());
    space.trials.pop_back();
  }
  space.configurations.reserve(space.trials.size());
  for (const Trial& trial : space.trials) {
    space.configurations.push_back(trial.configuration);
    if (!trial.ok()) continue;
    const double us = trial.measurement.median_us;
    space.best_us = space.correct++ == 0 ? us : std::min(space.best_us, us);
  }
  return space;
}

// A recording that is older than one of the template's parameters gets the parameter's first value,
// which stands for "as before".
Configuration completed(const KernelTemplate& kernel, const Configuration& recorded) {
  const Configuration::Entries known = recorded.entries();
  std::vector<Configuration::Entry> entries(known.begin(), known.end());
  for (const TuningParameter& parameter : kernel.space.parameters()) {
    if (recorded.contains(parameter.name)) continue;
    entries.emplace_back(parameter.name, parameter.values.front());
  }
  return Configuration(entries);
}

// True for a configuration with most of the template's parameters, in the range of its arithmetic.
// The values may have left the template's space since.
bool has_parameters_of(const KernelTemplate& kernel, const Configuration& recorded) {
  constexpr std::int64_t kLargest = 1024;
  std::size_t known = 0;
  for (const TuningParameter& parameter : kernel.space.parameters()) {
    if (!recorded.contains(parameter.name)) continue;
    ++known;
    const std::int64_t least =
        std::min<std::int64_t>(1, *std::ranges::min_element(parameter.values));
    const std::int64_t value = recorded.at(parameter.name);
    if (value < least || value > kLargest) return false;
  }
  return 2 * known > kernel.space.parameters().size();
}

// The objective that a result lacks though it is ok, or an empty text.
std::string lacking_objective(const std::deque<RecordedResult>& results) {
  const auto found = std::ranges::find_if(
      results, [](const RecordedResult& result) { return !result.lacks.empty(); });
  return found == results.end() ? "" : found->lacks;
}

}  // namespace

Prior prior_for(const RecordedSpace& space) {
  const std::vector<const Winner*> winners = shipped_winners({.device_label = space.device});
  if (!space.problem || space.kernel == nullptr || space.device.empty() || winners.empty())
    return {};
  const auto configurations = std::make_shared<std::vector<Configuration>>();
  for (const Configuration& recorded : space.configurations) {
    if (!has_parameters_of(*space.kernel, recorded)) return {};
    configurations->push_back(completed(*space.kernel, recorded));
  }
  const DeviceClass device = parse_device_class(winners.front()->device_class);
  const std::optional<SmLimits> sm = sm_limits(device.architecture);
  if (!sm) return {};
  const Prior estimate =
      prior_for(*space.kernel, *configurations, *space.problem, *sm, device.sm_count);
  if (!estimate) return {};
  return [configurations, estimate](std::size_t index) { return estimate(index); };
}

std::vector<RecordedSpace> read_recorded_spaces(const std::string& path, const KernelSet& kernels) {
  RecordedFile file = read_recorded_file(path);
  std::map<std::string, std::deque<RecordedResult>> groups;
  std::vector<std::string> names;  // in the order of the file
  for (; !file.results.empty(); file.results.pop_front()) {
    RecordedResult& result = file.results.front();
    const std::string name = space_name(result, path, file.is_whole, kernels);
    auto& group = groups[name];
    if (group.empty()) names.push_back(name);
    group.push_back(std::move(result));
  }
  std::vector<RecordedSpace> spaces;
  for (const std::string& name : names) {
    const std::string lacks = lacking_objective(groups.at(name));
    try {
      spaces.push_back(space_of(std::move(groups.at(name))));
    } catch (const MissingParameter&) {
      throw UsageError(
          fmt::format("{}: {}: not all configurations have the same parameters", path, name));
    }
    spaces.back().name = name;
    spaces.back().kernel = kernels.find(spaces.back().template_name);
    if (spaces.back().correct == 0 && !lacks.empty()) {
      throw UsageError(
          fmt::format("{}: {}: no configuration has a value of the objective {}, so "
                      "none is the best",
                      path, name, lacks));
    }
    if (spaces.back().correct == 0 || spaces.back().best_us >= kWorthless) {
      const char* const why =
          spaces.back().correct == 0 ? "configurations failed" : "scores are 0 or less";
      throw UsageError(fmt::format("{}: {}: all {}, so none is the best", path, name, why));
    }
  }
  return spaces;
}

}  // namespace autotune
