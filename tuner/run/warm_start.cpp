#include "tuner/run/warm_start.hpp"

#include <algorithm>

#include "autotune/error.hpp"

#include "tuner/run/search_task.hpp"

namespace autotune {
namespace {

constexpr std::size_t kMost = 8;

}  // namespace

std::vector<WarmStart> warm_starts(const Problem& problem, const std::string& device_class,
                                   const CandidateSpace& space, std::span<const Winner> winners) {
  std::vector<std::pair<double, WarmStart>> near;
  for (const Winner& winner : winners) {
    if (winner.template_name != space.kernel->name ||
        winner.space_version != space.kernel->space_version ||
        winner.problem.operation() != problem.operation()) {
      continue;
    }
    const bool won_here = winner.problem == problem && winner.device_class == device_class;
    try {
      // JSON keeps parameters in alphabetical order, and the space in the template's order.
      near.emplace_back(space.kernel->operation->distance(problem, winner.problem),
                        WarmStart{space.kernel->space.validated(winner.configuration), won_here});
    } catch (const UsageError&) {
      continue;
    }
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) {
    return std::pair(!a.second.won_here, a.first) < std::pair(!b.second.won_here, b.first);
  });
  std::vector<WarmStart> points;
  for (auto& [distance, point] : near) {
    if (points.size() == kMost) break;
    const auto is_same = [&point = point](const WarmStart& other) {
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
