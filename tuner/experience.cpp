#include "tuner/experience.hpp"

#include <algorithm>
#include <numeric>

namespace autotune {
namespace {

// A fit costs the cube of its points.
constexpr std::size_t kMostPoints = 200;
constexpr double kLeastEfficiency = 0.05;

// The places of `most` times: half of them the fastest, the others an even choice of the rest.
std::vector<std::size_t> chosen(const std::vector<double>& times_us, std::size_t most) {
  std::vector<std::size_t> places(times_us.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return times_us[a] < times_us[b]; });
  if (places.size() <= most) return places;
  const std::size_t fastest = most / 2;
  const std::size_t others = places.size() - fastest;
  std::vector<std::size_t> result(places.begin(),
                                  places.begin() + static_cast<std::ptrdiff_t>(fastest));
  for (std::size_t i = 0; i < most - fastest; ++i) {
    result.push_back(places[fastest + i * others / (most - fastest)]);
  }
  return result;
}

}  // namespace

Experience::Experience(const std::vector<Configuration>& configurations,
                       const std::vector<std::size_t>& indices, const std::vector<double>& times_us,
                       const Estimate& estimate)
    : encoding_(configurations) {
  if (encoding_.dimensions() == 0) return;
  Points points;
  std::vector<double> values;
  for (const std::size_t place : chosen(times_us, kMostPoints)) {
    std::vector<float> point(encoding_.dimensions());
    encoding_.write(configurations[indices[place]], point.data());
    points.insert(points.end(), point.begin(), point.end());
    values.push_back(estimate(indices[place]) / times_us[place]);
  }
  const double most = *std::max_element(values.begin(), values.end());
  for (double& value : values) value /= most;
  Covariance covariance = Covariance::first(encoding_.dimensions());
  covariance.learn(points, values);
  process_.emplace(covariance, points, values);
}

double Experience::slowness(const Configuration& configuration) const {
  if (!process_) return 1;
  std::vector<float> point(encoding_.dimensions());
  encoding_.write(configuration, point.data());
  return 1 / std::max(process_->rough(point.data()).mean, kLeastEfficiency);
}

}  // namespace autotune
