#include "tuner/starting_points.hpp"

#include <algorithm>

#include "autotune/error.hpp"

#include "core/problem_distance.hpp"

namespace autotune {
namespace {

constexpr std::size_t kMost = 8;

}  // namespace

std::vector<Configuration> starting_points(const GemmProblem& problem, const CandidateSpace& space,
                                           std::span<const Winner> winners) {
  std::vector<std::pair<double, Configuration>> near;
  for (const Winner& winner : winners) {
    if (winner.template_name != space.kernel->name ||
        winner.interface_number != space.kernel->interface_number) {
      continue;
    }
    try {
      // JSON keeps parameters in alphabetical order; here they are in the template's.
      near.emplace_back(octaves_apart(problem, winner.problem),
                        space.kernel->space.validated(winner.configuration));
    } catch (const UsageError&) {
      continue;
    }
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Configuration> points;
  for (auto& [distance, configuration] : near) {
    if (points.size() == kMost) break;
    if (space.index_of(configuration) &&
        std::find(points.begin(), points.end(), configuration) == points.end()) {
      points.push_back(std::move(configuration));
    }
  }
  return points;
}

}  // namespace autotune
