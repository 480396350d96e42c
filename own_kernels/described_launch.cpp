#include "own_kernels/described_launch.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "own_kernels/buffer_content.hpp"

namespace autotune {
namespace {

using Values = DescribedValues;

std::vector<std::string> parameter_names(const DescribedKernel& kernel) {
  std::vector<std::string> names;
  for (const TuningParameter& each : kernel.parameters) names.push_back(each.name);
  return names;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

// An extent of a block or a grid.
std::int64_t extent(const std::optional<Expression>& expression, const Values& values) {
  return expression ? expression->integer(values) : 1;
}

std::array<std::int64_t, 3> block_of(const DescribedKernel& kernel, const Values& values) {
  std::array<std::int64_t, 3> block = {};
  for (std::size_t i = 0; i < 3; ++i) block[i] = extent(kernel.block[i], values);
  return block;
}

// Throws UsageError for a division by zero and the like.
std::array<std::int64_t, 3> grid_of(const DescribedKernel& kernel, const Values& values) {
  std::array<std::int64_t, 3> grid = {};
  for (std::size_t i = 0; i < 3; ++i) {
    if (kernel.grid[0]) {
      grid[i] = extent(kernel.grid[i], values);
      continue;
    }
    const bool has_divisor = kernel.divisor[0].has_value();
    const auto& divisor = has_divisor ? kernel.divisor[i] : kernel.block[i];
    const std::int64_t by = extent(divisor, values);
    if (by < 1) {
      kernel.source->refuse(kernel.offset, fmt::format("{}: the divisor '{}' of the grid is {}",
                                                       kernel.key, divisor->source(), by));
    }
    grid[i] = ceil_div(extent(kernel.extent[i], values), by);
  }
  return grid;
}

}  // namespace

Values values_of(const DescribedKernel& kernel, const Problem* problem,
                 const Configuration* configuration) {
  Values values(kernel.sizes.size(), 1);
  if (problem != nullptr) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = problem->size(kernel.sizes[i]);
  }
  for (const TuningParameter& each : kernel.parameters) {
    values.push_back(configuration == nullptr ? each.values.front() : configuration->at(each.name));
  }
  return values;
}

Configuration default_of(const DescribedKernel& kernel) {
  return {std::make_shared<const Configuration::Names>(parameter_names(kernel)), kernel.defaults};
}

LaunchGeometry geometry_of(const DescribedKernel& kernel, const Configuration& configuration,
                           const Problem& problem) {
  const Values values = values_of(kernel, &problem, &configuration);
  LaunchGeometry geometry;
  try {
    geometry.block = block_of(kernel, values);
    geometry.dynamic_shared_bytes = kernel.shared_bytes ? kernel.shared_bytes->integer(values) : 0;
    geometry.grid = {0, 0, 0};
    geometry.grid = grid_of(kernel, values);
  } catch (const UsageError&) {
    geometry.grid = {0, 0, 0};
  }
  return geometry;
}

bool fits(const DescribedKernel& kernel, const Configuration& configuration,
          const Problem& problem) {
  const Values values = values_of(kernel, &problem, &configuration);
  for (const DescribedRestriction& each : kernel.restrictions) {
    if (each.has_sizes && !each.holds.truth(values)) return false;
  }
  const LaunchGeometry geometry = geometry_of(kernel, configuration, problem);
  return std::ranges::min(geometry.grid) > 0 && std::ranges::min(geometry.block) > 0 &&
         geometry.dynamic_shared_bytes >= 0 && geometry.is_launchable();
}

std::vector<TensorDesc> tensors_of(const DescribedKernel& kernel, const Problem& problem) {
  const Values values = values_of(kernel, &problem, nullptr);
  std::vector<TensorDesc> tensors;
  for (const DescribedArgument& each : kernel.arguments) {
    if (each.kind != DescribedArgument::Kind::buffer) continue;
    const std::int64_t elements = each.elements->integer(values);
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 64;
    if (elements < 1 || elements > most / each.width) {
      kernel.source->refuse(each.offset,
                            fmt::format("{}: the buffer {} has {} elements: it must have 1 to {}",
                                        kernel.key, each.name, elements, most / each.width));
    }
    const std::int64_t columns = elements * each.width;
    tensors.push_back({each.name, each.role, each.type, 1, columns, columns, 1, columns});
  }
  return tensors;
}

std::vector<TensorContent> contents_of(const DescribedKernel& kernel, const Problem& problem) {
  const Values values = values_of(kernel, &problem, nullptr);
  std::vector<TensorContent> contents;
  for (const DescribedArgument& each : kernel.arguments) {
    if (each.kind != DescribedArgument::Kind::buffer) continue;
    contents.push_back(content_of(each.content, values));
  }
  return contents;
}

std::vector<std::int64_t> numbers_of(const DescribedKernel& kernel, const Problem& problem) {
  const Values values = values_of(kernel, &problem, nullptr);
  std::vector<std::int64_t> numbers;
  for (const DescribedArgument& each : kernel.arguments) {
    if (each.kind != DescribedArgument::Kind::number) continue;
    const std::int64_t value = each.value->integer(values);
    const bool fits = each.is_unsigned ? value == static_cast<std::uint32_t>(value)
                                       : value == static_cast<std::int32_t>(value);
    if (!each.is_wide && !fits) {
      kernel.source->refuse(each.offset, fmt::format("{}: {} is {}, which its type cannot hold",
                                                     kernel.key, each.name, value));
    }
    numbers.push_back(value);
  }
  return numbers;
}

void check_problem(const DescribedKernel& kernel, const Problem& problem) {
  static_cast<void>(tensors_of(kernel, problem));
  static_cast<void>(numbers_of(kernel, problem));
  static_cast<void>(contents_of(kernel, problem));
  const Configuration usual = default_of(kernel);
  const Values values = values_of(kernel, &problem, &usual);
  for (const DescribedRestriction& each : kernel.restrictions) {
    if (!each.has_sizes || each.holds.truth(values)) continue;
    kernel.source->refuse(kernel.offset,
                          fmt::format("{} with its default configuration does not meet '{}' for "
                                      "{}, and the default is what others are compared with",
                                      kernel.key, each.holds.source(), to_string(problem)));
  }
  const auto check_extents = [&](const std::array<std::int64_t, 3>& extents,
                                 const std::array<std::int64_t, 3>& most, const char* what) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (extents[i] >= 1 && extents[i] <= most[i]) continue;
      kernel.source->refuse(kernel.offset,
                            fmt::format("{}: the {} has the extent {} along {}: it must be 1 to {}",
                                        kernel.key, what, extents[i], "xyz"[i], most[i]));
    }
  };
  check_extents(block_of(kernel, values), {1024, 1024, 64}, "block");
  check_extents(grid_of(kernel, values), {2147483647, 65535, 65535}, "grid");
  const std::int64_t shared = kernel.shared_bytes ? kernel.shared_bytes->integer(values) : 0;
  if (shared < 0) {
    kernel.source->refuse(kernel.offset, fmt::format("{}: the dynamic shared memory is {} bytes",
                                                     kernel.key, shared));
  }
}

}  // namespace autotune
