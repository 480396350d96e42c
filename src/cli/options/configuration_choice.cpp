#include "cli/options/configuration_choice.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "cli/gemm_output.hpp"
#include "cli/options/space_options.hpp"
#include "cli/output/terminal.hpp"

namespace autotune {
namespace {

bool has_parameters(const KernelTemplate& kernel, const Configuration& configuration) {
  const Configuration all = kernel.default_configuration(kernel.limiting_problems.front());
  const auto& given = configuration.entries();
  return std::all_of(given.begin(), given.end(),
                     [&](const auto& entry) { return all.contains(entry.first); });
}

// The template that is named, else gemm_tiled or the first one that has all given parameters; those
// that compute the problem go before others.
const KernelTemplate& chosen_template(const ConfigurationChoice& choice, const Problem* problem) {
  const KernelTemplate& usual = template_or_default(choice.kernel, choice.portfolios.kernels());
  const Configuration& given = choice.configuration;
  if (choice.kernel != nullptr || given.empty() || has_parameters(usual, given)) return usual;
  const auto& all = choice.portfolios.kernels().templates();
  const auto first = [&](bool computing) {
    return std::ranges::find_if(all, [&](const KernelTemplate& kernel) {
      return has_parameters(kernel, given) &&
             (!computing || problem == nullptr || computes(kernel, *problem));
    });
  };
  auto other = first(true);
  if (other == all.end()) other = first(false);
  return other == all.end() ? usual : *other;
}

// Returns how far two values of a parameter are apart: in powers of two, or 1 from or to zero.
double distance(std::int64_t a, std::int64_t b) {
  if (a == b) return 0;
  if (a <= 0 || b <= 0) return 1;
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

bool is_unrolled_fully(const KernelTemplate& kernel, const Configuration& configuration) {
  if (!kernel.tile_shape) return false;
  const TileShape shape = kernel.tile_shape(configuration);
  return shape.unroll > 0 && shape.unroll == shape.block_k;
}

// The valid configuration that has all given values and is nearest to the default. A loop that the
// default unrolls fully stays so, whatever its new length is.
std::optional<Configuration> nearest_valid(const KernelTemplate& kernel, const Configuration& given,
                                           const Configuration& usual) {
  std::optional<Configuration> nearest;
  std::pair<bool, double> least;
  const bool is_full = !given.contains("UNROLL") && is_unrolled_fully(kernel, usual);
  for (const Configuration& candidate : kernel.space.enumerate().configurations) {
    const auto& must = given.entries();
    const bool has_all = std::all_of(must.begin(), must.end(), [&](const auto& entry) {
      return candidate.contains(entry.first) && candidate.at(entry.first) == entry.second;
    });
    if (!has_all) continue;
    std::pair<bool, double> apart(is_full && !is_unrolled_fully(kernel, candidate), 0);
    for (const auto& [name, value] : usual.entries()) {
      if (!given.contains(name)) apart.second += distance(candidate.at(name), value);
    }
    if (nearest && apart >= least) continue;
    least = apart;
    nearest = candidate;
  }
  return nearest;
}

bool knows(const KernelTemplate& kernel, const std::pair<std::string, std::int64_t>& entry) {
  const auto& all = kernel.space.parameters();
  return std::ranges::any_of(all, [&](const TuningParameter& parameter) {
    const auto& values = parameter.values;
    return parameter.name == entry.first && std::ranges::find(values, entry.second) != values.end();
  });
}

// The given value without which the others go together; empty where there is none, or where the
// template does not know all of them. Either of two values that break a rule may be the one.
std::string odd_value(const KernelTemplate& kernel, const Configuration& given) {
  const auto& must = given.entries();
  if (must.size() < 2) return "";
  for (const auto& [name, value] : must) {
    if (!knows(kernel, {name, value})) return "";
  }
  for (const Configuration& candidate : kernel.space.enumerate().configurations) {
    std::string odd;
    std::size_t differing = 0;
    for (const auto& [name, value] : must) {
      if (candidate.contains(name) && candidate.at(name) == value) continue;
      odd = fmt::format("{}={}", name, value);
      ++differing;
    }
    if (differing == 1) return odd;
  }
  return "";
}

Configuration completed(const KernelTemplate& kernel, const Configuration& given,
                        const Problem& problem) {
  const Configuration usual = kernel.default_configuration(problem);
  Configuration whole = usual;
  for (const auto& [name, value] : given.entries()) whole.set(name, value);
  try {
    return kernel.space.validated(whole);
  } catch (const UsageError& error) {
    if (auto nearest = nearest_valid(kernel, given, usual)) return *std::move(nearest);
    const std::string odd = odd_value(kernel, given);
    if (!odd.empty()) {
      throw UsageError(
          fmt::format("{}; the other values go together without {}", error.what(), odd));
    }
    // A value is unknown, or more than two break a rule.
    throw UsageError(
        fmt::format("{} (template {}: --template names another)", error.what(), kernel.name));
  }
}

// Says which values of the default the given ones do not go with, and what was taken instead.
std::string adaptation(const KernelTemplate& kernel, const Configuration& given,
                       const Problem& problem) {
  const Configuration usual = kernel.default_configuration(problem);
  const Configuration whole = completed(kernel, given, problem);
  Configuration taken;
  Configuration left;
  for (const auto& [name, value] : whole.entries()) {
    if (given.contains(name) || usual.at(name) == value) continue;
    taken.set(name, value);
    left.set(name, usual.at(name));
  }
  if (taken.empty()) return "";
  return fmt::format("{} goes with {} here, in place of the default's {}", to_string(given),
                     to_string(taken), to_string(left));
}

}  // namespace

ConfigurationChoice choice_of(const Options& options) {
  return {options.portfolios, options.one_template(), options.configuration};
}

std::vector<std::string> adaptations(const ConfigurationChoice& choice,
                                     const std::vector<Problem>& problems,
                                     const std::string& option) {
  const KernelTemplate& kernel =
      chosen_template(choice, problems.empty() ? nullptr : &problems.front());
  if (choice.configuration.empty()) return {};
  std::set<std::string> texts;
  for (const Problem& problem : problems) {
    try {
      const std::string text = adaptation(kernel, choice.configuration, problem);
      if (!text.empty()) texts.insert(fmt::format("{}: {}", option, text));
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}: {}", option, error.what()));
    }
  }
  return {texts.begin(), texts.end()};
}

void check_choice(const ConfigurationChoice& choice, const std::vector<Problem>& problems,
                  const std::string& option) {
  for (const std::string& text : adaptations(choice, problems, option)) say(text);
}

void check_architecture(const KernelTemplate& kernel, const std::string& architecture) {
  if (architecture.rfind("sm_", 0) != 0) return;
  const int capability = std::stoi(architecture.substr(3));
  if (runs_on(kernel, capability)) return;
  const std::string needed = capability < kernel.min_compute_capability
                                 ? fmt::format("sm_{} or newer", kernel.min_compute_capability)
                                 : fmt::format("one before sm_{}", kernel.end_compute_capability);
  throw UsageError(
      fmt::format("--template: {} needs {}, not {}", kernel.name, needed, architecture));
}

void check_device(const KernelTemplate& kernel, const Configuration& configuration,
                  const DeviceInfo& device) {
  check_architecture(kernel, device.architecture());
  for (const Constraint& constraint : device_constraints(kernel, device)) {
    if (constraint.holds(configuration)) continue;
    throw UsageError(fmt::format("{} with this configuration cannot run on {}: {}", kernel.name,
                                 device.label, constraint.meaning));
  }
}

void check_problem(const KernelTemplate& kernel, const Problem& problem) {
  if (computes(kernel, problem)) return;
  throw UsageError(fmt::format(
      "--template: {} does not compute {} with --math {}: name another template or --math",
      kernel.name, kernel.operation->text(problem), math_text(problem)));
}

ChosenConfiguration choose_configuration(const ConfigurationChoice& choice, const Problem& problem,
                                         const TuningDatabase* database,
                                         const DeviceQuery& device) {
  const KernelTemplate& kernel = chosen_template(choice, &problem);
  if (!choice.configuration.empty()) {
    return {&kernel, completed(kernel, choice.configuration, problem), problem, "given", true};
  }
  const std::vector<Choice> known =
      known_choices(choice.portfolios, problem, database, device, choice.kernel);
  if (known.empty()) return {&kernel, kernel.default_configuration(problem), problem, "default"};
  const Choice& best = known.front();
  return {best.kernel, best.configuration, best.problem, best.explanation(), best.is_measured()};
}

std::vector<Choice> known_choices(const ShippedPortfolios& portfolios, const Problem& problem,
                                  const TuningDatabase* database, const DeviceQuery& device,
                                  const KernelTemplate* kernel, bool only_measured) {
  ChoiceQuery query{
      .problem = problem, .database = database, .device = device, .portfolios = portfolios};
  query.limits = limits_of(database, device);
  query.aligned = unpadded_traits(portfolios.kernels().operation_for(problem), problem).aligned;
  query.only_measured = only_measured;
  query.serves = [kernel](const KernelTemplate& one, const auto&...) {
    return kernel == nullptr || &one == kernel;
  };
  return choices(query);
}

std::string configuration_text(const KernelTemplate* kernel, const Configuration& configuration,
                               const Problem& problem, bool wide) {
  if (wide || kernel == nullptr) return to_string(configuration);
  const Configuration usual = kernel->default_configuration(problem);
  Configuration different;
  for (const auto& [name, value] : configuration.entries()) {
    if (!usual.contains(name) || usual.at(name) != value) different.set(name, value);
  }
  return different.empty() ? "default" : to_string(different);
}

}  // namespace autotune
