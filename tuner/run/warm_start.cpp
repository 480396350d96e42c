#include "tuner/run/warm_start.hpp"

#include <algorithm>

#include "autotune/error.hpp"

#include "core/problem_distance.hpp"
#include "tuner/run/search_task.hpp"

namespace autotune {
namespace {

constexpr std::size_t kMost = 8;

}  // namespace

std::vector<StartingPoint> starting_points(const GemmProblem& problem,
                                           const std::string& silicon_class,
                                           const CandidateSpace& space,
                                           std::span<const Winner> winners) {
  std::vector<std::pair<double, StartingPoint>> near;
  for (const Winner& winner : winners) {
    if (winner.template_name != space.kernel->name ||
        winner.interface_number != space.kernel->interface_number) {
      continue;
    }
    const bool won_here = winner.problem == problem && winner.silicon_class == silicon_class;
    try {
      // JSON keeps parameters in alphabetical order; here they are in the template's.
      near.emplace_back(
          octaves_apart(problem, winner.problem),
          StartingPoint{space.kernel->space.validated(winner.configuration), won_here});
    } catch (const UsageError&) {
      continue;
    }
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) {
    return std::pair(!a.second.won_here, a.first) < std::pair(!b.second.won_here, b.first);
  });
  std::vector<StartingPoint> points;
  for (auto& [distance, point] : near) {
    if (points.size() == kMost) break;
    const auto is_same = [&point = point](const StartingPoint& other) {
      return other.configuration == point.configuration;
    };
    if (space.index_of(point.configuration) &&
        std::none_of(points.begin(), points.end(), is_same)) {
      points.push_back(std::move(point));
    }
  }
  return points;
}

}  // namespace autotune
