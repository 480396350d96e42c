#include "tuner/search/surrogate/encoding.hpp"

#include <algorithm>
#include <cmath>

namespace autotune {
namespace {

constexpr double kSeveralOctaves = 4;  // the largest value over the smallest

bool is_geometric(const std::vector<std::int64_t>& values) {
  return values.front() > 0 && static_cast<double>(values.back()) >=
                                   kSeveralOctaves * static_cast<double>(values.front());
}

std::vector<float> coordinates_of(const std::vector<std::int64_t>& values) {
  const bool geometric = is_geometric(values);
  const auto place = [&](std::size_t rank) {
    return geometric ? std::log2(static_cast<double>(values[rank])) : static_cast<double>(rank);
  };
  const double first = place(0);
  const double span = place(values.size() - 1) - first;
  std::vector<float> coordinates;
  for (std::size_t rank = 0; rank < values.size(); ++rank) {
    coordinates.push_back(static_cast<float>((place(rank) - first) / span));
  }
  return coordinates;
}

}  // namespace

Encoding::Encoding(const std::vector<Configuration>& configurations) {
  if (configurations.empty()) return;
  for (std::size_t entry = 0; entry < configurations.front().values().size(); ++entry) {
    std::vector<std::int64_t> values;
    for (const Configuration& configuration : configurations) {
      const std::int64_t value = configuration.values()[entry];
      const auto place = std::lower_bound(values.begin(), values.end(), value);
      if (place == values.end() || *place != value) values.insert(place, value);
    }
    if (values.size() < 2) continue;
    std::vector<float> coordinates = coordinates_of(values);
    parameters_.push_back({entry, std::move(values), std::move(coordinates)});
  }
}

void Encoding::write(const Configuration& configuration, float* coordinates) const {
  for (const Parameter& parameter : parameters_) {
    const std::int64_t value = configuration.values()[parameter.entry];
    const auto place = std::lower_bound(parameter.values.begin(), parameter.values.end(), value);
    *coordinates++ =
        parameter.coordinates[static_cast<std::size_t>(place - parameter.values.begin())];
  }
}

}  // namespace autotune
