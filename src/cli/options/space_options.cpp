#include "cli/options/space_options.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "cli/options/option_values.hpp"

namespace autotune {
namespace {

void check_values(const std::vector<std::int64_t>& asked, const std::set<std::int64_t>& known,
                  const std::string& option) {
  if (!asked.empty() && known.empty()) {
    throw UsageError(option + ": the template has no such parameter: leave the option out");
  }
  for (const std::int64_t value : asked) {
    if (value != SpaceFilter::kFullUnroll && !known.contains(value)) {
      throw UsageError(
          fmt::format("{}: '{}' must be one of {}", option, value, fmt::join(known, ", ")));
    }
  }
}

// Checks the part of a filter that concerns the tile shape.
void check_shapes(const SpaceFilter& filter, const ShapeValues& known) {
  std::vector<std::int64_t> products = filter.results_per_thread;
  for (const auto& [m, n] : filter.result_shapes) products.push_back(m * n);
  check_values(filter.tile_widths, known.tile_widths, "--tile-width");
  check_values(products, known.results_per_thread, "--results-per-thread");
  check_values(filter.unrolls, known.unrolls, "--unroll");
}

void check_parameter(const std::vector<const KernelTemplate*>& kernels, const std::string& name,
                     const std::vector<std::int64_t>& values) {
  std::set<std::string> names;
  std::set<std::int64_t> known;
  for (const KernelTemplate* kernel : kernels) {
    for (const TuningParameter& parameter : kernel->space.parameters()) {
      names.insert(parameter.name);
      if (parameter.name == name) known.insert(parameter.values.begin(), parameter.values.end());
    }
  }
  if (!names.contains(name)) {
    throw UsageError(fmt::format("--only: '{}' must be a parameter of a template, one of {}", name,
                                 fmt::join(names, ", ")));
  }
  check_values(values, known, "--only: " + name);
}

}  // namespace

std::vector<const KernelTemplate*> parse_templates(const std::string& names,
                                                   const KernelSet& kernels) {
  std::vector<const KernelTemplate*> chosen;
  for (const std::string& name : items_of(names)) {
    const KernelTemplate* kernel = kernels.find(name);
    if (kernel == nullptr) {
      std::vector<std::string> known;
      for (const KernelTemplate& each : kernels.templates()) known.push_back(each.name);
      throw UsageError(
          fmt::format("{} must be one of {}", in_quotes(name), fmt::join(known, ", ")));
    }
    if (std::ranges::find(chosen, kernel) == chosen.end()) chosen.push_back(kernel);
  }
  return chosen;
}

const KernelTemplate& template_or_default(const KernelTemplate* given, const KernelSet& kernels) {
  if (given != nullptr) return *given;
  const KernelTemplate* const usual = kernels.find("gemm_tiled");
  return usual != nullptr ? *usual : kernels.templates().front();
}

void check_filter(const SpaceFilter& filter, const std::vector<const KernelTemplate*>& templates) {
  for (const auto& [name, values] : filter.only) check_parameter(templates, name, values);
  if (filter.names_shapes()) check_shapes(filter, shape_values(templates));
}

// Enumerates spaces, which takes a tenth of a second for a large one.
ShapeValues shape_values(const std::vector<const KernelTemplate*>& templates) {
  ShapeValues values;
  for (const KernelTemplate* kernel : templates) {
    if (!kernel->tile_shape) continue;
    for (const Configuration& configuration : kernel->space.enumerate().configurations) {
      const TileShape shape = kernel->tile_shape(configuration);
      values.tile_widths.insert(shape.tile_width);
      values.results_per_thread.insert(shape.results());
      values.unrolls.insert(shape.unroll);
    }
  }
  for (auto* each : {&values.tile_widths, &values.results_per_thread, &values.unrolls}) {
    each->erase(0);
  }
  return values;
}

std::optional<Configuration> plainest_configuration(const KernelTemplate& kernel,
                                                    const SpaceFilter& filter,
                                                    std::vector<Constraint> constraints) {
  const auto skew = [&](const Configuration& configuration) {
    const TileShape t = kernel.tile_shape ? kernel.tile_shape(configuration)
                                          : TileShape{.results_m = 1, .results_n = 1};
    return std::pair(std::max(t.results_m, t.results_n) / std::min(t.results_m, t.results_n),
                     t.results_m > t.results_n);
  };
  constraints.push_back(filter.constraint(kernel));
  const auto all = kernel.space.enumerate(constraints).configurations;
  const auto plainest = std::ranges::min_element(
      all, [&](const Configuration& a, const Configuration& b) { return skew(a) < skew(b); });
  if (plainest == all.end()) return std::nullopt;
  return *plainest;
}

}  // namespace autotune
