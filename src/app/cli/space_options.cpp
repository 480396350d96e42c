#include "cli/space_options.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "cli/size_list.hpp"

namespace autotune {
namespace {

std::vector<std::string> items_of(const std::string& list) {
  std::vector<std::string> items;
  std::stringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) items.push_back(item);
  if (list.empty() || list.back() == ',') items.emplace_back();
  return items;
}

// The tile shapes of the chosen templates' configurations, found when first asked for: a large
// space takes a tenth of a second.
class KnownShapes {
 public:
  explicit KnownShapes(const std::vector<const KernelTemplate*>& templates)
      : templates_(templates) {}

  // The values that a figure of the tile shape takes.
  template <typename Figure>
  std::set<std::int64_t> values_of(Figure figure) {
    std::set<std::int64_t> values;
    for (const TileShape& shape : shapes()) {
      if (const std::int64_t value = figure(shape); value > 0) values.insert(value);
    }
    return values;
  }

 private:
  const std::vector<TileShape>& shapes() {
    if (!shapes_.empty()) return shapes_;
    for (const KernelTemplate* kernel : templates_) {
      for (const Configuration& configuration : kernel->space.enumerate().configurations) {
        shapes_.push_back(kernel->tile_shape(configuration));
      }
    }
    return shapes_;
  }

  const std::vector<const KernelTemplate*>& templates_;
  std::vector<TileShape> shapes_;
};

void check_values(const std::vector<std::int64_t>& asked, const std::set<std::int64_t>& known,
                  const std::string& option) {
  for (const std::int64_t value : asked) {
    if (value != SpaceFilter::kFullUnroll && !known.contains(value)) {
      throw UsageError(fmt::format("{}: {} is not in any template's space: use one of {}", option,
                                   value, fmt::join(known, ", ")));
    }
  }
}

// Throws UsageError when no template has that value of that parameter.
void check_parameter(const std::vector<const KernelTemplate*>& kernels, const std::string& name,
                     std::int64_t value) {
  std::set<std::string> names;
  std::set<std::int64_t> known;
  for (const KernelTemplate* kernel : kernels) {
    for (const TuningParameter& parameter : kernel->space.parameters()) {
      names.insert(parameter.name);
      if (parameter.name == name) known.insert(parameter.values.begin(), parameter.values.end());
    }
  }
  if (!names.contains(name)) {
    throw UsageError(fmt::format("--only: no template has a parameter '{}': use one of {}", name,
                                 fmt::join(names, ", ")));
  }
  check_values({value}, known, "--only: " + name);
}

// "2/8": the second of eight.
std::pair<std::int64_t, std::int64_t> parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw UsageError(fmt::format("--shard: '{}' is not like 2/8, the second of eight parts", text));
  }
  const std::int64_t shard = parse_integer(text.substr(0, slash), "--shard");
  const std::int64_t shards = parse_integer(text.substr(slash + 1), "--shard");
  if (shard > shards) {
    throw UsageError(fmt::format("--shard: there is no part {} of {}", shard, shards));
  }
  return {shard, shards};
}

}  // namespace

std::vector<const KernelTemplate*> SpaceOptions::chosen_templates() const {
  std::vector<const KernelTemplate*> chosen;
  if (templates.empty()) {
    for (const KernelTemplate& kernel : built_in_kernels().templates()) chosen.push_back(&kernel);
    return chosen;
  }
  for (const std::string& name : items_of(templates)) {
    const KernelTemplate* kernel = built_in_kernels().find(name);
    if (kernel == nullptr) {
      std::vector<std::string> names;
      for (const KernelTemplate& known : built_in_kernels().templates()) names.push_back(known.name);
      throw UsageError(fmt::format("--template: there is no template '{}': use {}", name,
                                   fmt::join(names, ", ")));
    }
    if (std::find(chosen.begin(), chosen.end(), kernel) == chosen.end()) chosen.push_back(kernel);
  }
  return chosen;
}

const KernelTemplate& single_template(const std::string& name) {
  return *SpaceOptions{.templates = name.empty() ? "gemm_tiled" : name}.chosen_templates().front();
}

SpaceFilter SpaceOptions::filter() const {
  SpaceFilter filter;
  const std::vector<const KernelTemplate*> kernels = chosen_templates();
  KnownShapes known(kernels);
  if (!tile_width.empty()) {
    filter.tile_widths = parse_integers(tile_width, "--tile-width");
    check_values(filter.tile_widths,
                 known.values_of([](const TileShape& t) { return t.tile_width; }), "--tile-width");
  }
  if (!results_per_thread.empty()) {
    for (const std::string& item : items_of(results_per_thread)) {
      const std::size_t x = item.find('x');
      if (x == std::string::npos) {
        filter.results_per_thread.push_back(parse_integer(item, "--results-per-thread"));
      } else {
        filter.result_shapes.emplace_back(
            parse_integer(item.substr(0, x), "--results-per-thread"),
            parse_integer(item.substr(x + 1), "--results-per-thread"));
      }
    }
    std::vector<std::int64_t> products = filter.results_per_thread;
    for (const auto& [m, n] : filter.result_shapes) products.push_back(m * n);
    check_values(products, known.values_of([](const TileShape& t) { return t.results(); }),
                 "--results-per-thread");
  }
  if (!unroll.empty()) {
    for (const std::string& item : items_of(unroll)) {
      filter.unrolls.push_back(item == "full" ? SpaceFilter::kFullUnroll
                                              : parse_integer(item, "--unroll"));
    }
    check_values(filter.unrolls, known.values_of([](const TileShape& t) { return t.unroll; }),
                 "--unroll");
  }
  if (!only.empty()) {
    for (const std::string& item : items_of(only)) {
      const Configuration parsed = Configuration::parse(item);
      const auto& [name, value] = parsed.entries().front();
      check_parameter(kernels, name, value);
      filter.only[name].push_back(value);
    }
  }
  if (!shard.empty()) std::tie(filter.shard, filter.shards) = parse_shard(shard);
  return filter;
}

std::optional<Configuration> plainest_configuration(const KernelTemplate& kernel,
                                                    const SpaceFilter& filter) {
  const auto skew = [&](const Configuration& configuration) {
    const TileShape t = kernel.tile_shape(configuration);
    return std::pair(std::max(t.results_m, t.results_n) / std::min(t.results_m, t.results_n),
                     t.results_m > t.results_n);
  };
  const auto all = kernel.space.enumerate({filter.constraint(kernel)}).configurations;
  const auto plainest = std::min_element(
      all.begin(), all.end(),
      [&](const Configuration& a, const Configuration& b) { return skew(a) < skew(b); });
  if (plainest == all.end()) return std::nullopt;
  return *plainest;
}

}  // namespace autotune
