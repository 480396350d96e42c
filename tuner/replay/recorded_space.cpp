#include "tuner/replay/recorded_space.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "db/shipped_winners.hpp"
#include "kernel_templates/cost_prior.hpp"
#include "tuner/replay/objective.hpp"
#include "tuner/replay/recorded_result.hpp"
#include "tuner/replay/space_builder.hpp"

namespace autotune {
namespace {

std::string space_name(const RecordedSpace& space, const std::string& path, bool is_whole,
                       const KernelSet& kernels) {
  if (!space.problem) {
    return std::filesystem::path(path).filename().string() + (is_whole ? "" : " (unfinished)");
  }
  const Operation* const operation = kernels.operation_of(*space.problem);
  if (operation == nullptr) {
    throw UsageError(fmt::format("{}: no kernel here computes {}", path, space.problem->key()));
  }
  return operation->text(*space.problem) + " " + space.template_name +
         (space.device.empty() ? "" : " on " + space.device);
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

// Throws UsageError for a space without a best configuration.
void check_best(const RecordedSpace& space, const std::string& path, const std::string& lacks) {
  if (space.correct == 0 && !lacks.empty()) {
    throw UsageError(
        fmt::format("{}: {}: no configuration has a value of the objective {}, so none is the best",
                    path, space.name, lacks));
  }
  if (space.correct > 0 && space.best_us < kWorthless) return;
  throw UsageError(
      fmt::format("{}: {}: all {}, so none is the best", path, space.name,
                  space.correct == 0 ? "configurations failed" : "scores are 0 or less"));
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

Trial RecordedSpace::trial(std::size_t index) const {
  Trial trial{.template_name = template_name,
              .configuration = configurations.at(index),
              .status = outcomes[index].status};
  trial.measurement.median_us = outcomes[index].us;
  return trial;
}

std::string RecordedSpace::text_of(std::string_view parameter, std::int64_t number) const {
  const std::vector<std::string>& texts = ranked.find(parameter)->second;
  return texts.empty() ? std::to_string(number) : texts.at(static_cast<std::size_t>(number));
}

std::optional<std::int64_t> RecordedSpace::number_of(std::string_view parameter,
                                                     const std::string& text) const {
  const std::vector<std::string>& texts = ranked.find(parameter)->second;
  if (const auto found = std::ranges::find(texts, text); found != texts.end()) {
    return found - texts.begin();
  }
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const bool is_number = std::from_chars(text.data(), end, number).ptr == end;
  return texts.empty() && is_number ? std::optional(number) : std::nullopt;
}

std::vector<RecordedSpace> read_recorded_spaces(const std::string& path, const KernelSet& kernels) {
  std::map<std::array<std::string, 3>, std::size_t> places;
  std::deque<SpaceBuilder> builders;  // in the order of the file
  const bool is_whole = read_recorded_file(path, [&](const RecordedResult& result) {
    const std::string problem = result.problem ? result.problem->key() : "";
    const auto [place, is_new] =
        places.try_emplace({problem, result.template_name, result.device}, builders.size());
    if (is_new) builders.emplace_back();
    builders[place->second].add(result);
  });
  std::vector<RecordedSpace> spaces;
  for (; !builders.empty(); builders.pop_front()) {
    RecordedSpace& space = spaces.emplace_back(builders.front().take());
    space.name = space_name(space, path, is_whole, kernels);
    space.kernel = kernels.find(space.template_name);
    if (builders.front().parameters_differ()) {
      throw UsageError(
          fmt::format("{}: {}: not all configurations have the same parameters", path, space.name));
    }
    check_best(space, path, builders.front().lacks());
  }
  return spaces;
}

}  // namespace autotune
