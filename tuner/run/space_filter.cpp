#include "tuner/run/space_filter.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/hash.hpp"

namespace autotune {
namespace {

// An empty list of allowed values allows every value.
template <typename T>
bool allows(const std::vector<T>& allowed, const T& value) {
  return allowed.empty() || std::ranges::find(allowed, value) != allowed.end();
}

bool allows_results(const SpaceFilter& filter, const TileShape& shape) {
  if (filter.results_per_thread.empty() && filter.result_shapes.empty()) return true;
  const auto& products = filter.results_per_thread;
  const auto& shapes = filter.result_shapes;
  return std::ranges::find(products, shape.results()) != products.end() ||
         std::ranges::find(shapes, std::pair{shape.results_m, shape.results_n}) != shapes.end();
}

bool allows_unroll(const SpaceFilter& filter, const TileShape& shape) {
  const bool full = shape.unroll == shape.block_k;
  return allows(filter.unrolls, shape.unroll) ||
         (full && allows(filter.unrolls, SpaceFilter::kFullUnroll));
}

bool allows_shape(const SpaceFilter& filter, const KernelTemplate& kernel,
                  const Configuration& configuration) {
  if (!filter.names_shapes()) return true;
  if (!kernel.tile_shape) return false;
  const TileShape shape = kernel.tile_shape(configuration);
  return allows(filter.tile_widths, shape.tile_width) && allows_results(filter, shape) &&
         allows_unroll(filter, shape);
}

bool allows_values(const SpaceFilter& filter, const Configuration& configuration) {
  return std::ranges::all_of(filter.only, [&](const auto& one) {
    const auto& [name, values] = one;
    return configuration.contains(name) && allows(values, configuration.at(name));
  });
}

// Returns whether a configuration is in the filter's shard. Configurations that share a kernel are
// in the same shard.
bool in_shard(const SpaceFilter& filter, const KernelTemplate& kernel,
              const Configuration& configuration) {
  if (filter.shards == 1) return true;
  const std::string compiled = to_string(compiled_as(kernel, configuration));
  const std::string digits = content_hash(compiled).substr(0, 8);
  return std::stoll(digits, nullptr, 16) % filter.shards == filter.shard - 1;
}

}  // namespace

bool SpaceFilter::empty() const {
  return !names_shapes() && only.empty() && shards == 1;
}

bool SpaceFilter::names_shapes() const {
  return !tile_widths.empty() || !results_per_thread.empty() || !result_shapes.empty() ||
         !unrolls.empty();
}

Constraint SpaceFilter::constraint(const KernelTemplate& kernel) const {
  return {"filter", "the configuration must be one that the request asks for",
          [filter = *this, &kernel](const Configuration& configuration) {
            return allows_shape(filter, kernel, configuration) &&
                   allows_values(filter, configuration) && in_shard(filter, kernel, configuration);
          }};
}

std::string SpaceFilter::text() const {
  const auto sorted = [](auto values) {
    std::ranges::sort(values);
    return values;
  };
  std::vector<std::string> shapes;
  for (const auto& [m, n] : sorted(result_shapes)) shapes.push_back(fmt::format("{}x{}", m, n));
  std::string text =
      fmt::format("tile_width={};results={};shapes={};unroll={}",
                  fmt::join(sorted(tile_widths), ","), fmt::join(sorted(results_per_thread), ","),
                  fmt::join(shapes, ","), fmt::join(sorted(unrolls), ","));
  for (const auto& [name, values] : only) {
    text += fmt::format(";{}={}", name, fmt::join(sorted(values), ","));
  }
  if (shards > 1) text += fmt::format(";shard={}/{}", shard, shards);
  return text;
}

}  // namespace autotune
