#include "tuner/run/warm_start.hpp"

#include <algorithm>
#include <tuple>

#include "autotune/error.hpp"

#include "tuner/run/search_task.hpp"
#include "tuner/run/setup.hpp"

namespace autotune {
namespace {

constexpr std::size_t kMost = 9;
constexpr std::size_t kMostSuggested = 5;

struct Near {
  // The least comes first: did not win here, device unlike, distance of the problem, another
  // device.
  std::tuple<bool, bool, double, bool> rank;
  WarmStart start;
};

// Returns the winners of the space's kernel, the nearest first.
std::vector<Near> nearest(const Problem& problem, const std::string& device_class,
                          const CandidateSpace& space, std::span<const Winner> winners) {
  const KernelTemplate& kernel = *space.kernel;
  const DeviceClass own_class = parse_device_class(device_class);
  std::vector<Near> near;
  for (const Winner& winner : winners) {
    if (winner.template_name != kernel.name || winner.space_version != kernel.space_version ||
        winner.problem.operation() != problem.operation()) {
      continue;
    }
    const bool is_own = winner.device_class == device_class;
    const bool is_like = is_own || are_alike(parse_device_class(winner.device_class), own_class);
    const bool won_here = is_own && winner.problem == problem;
    try {
      // JSON keeps parameters in alphabetical order, and the space in the template's order.
      near.push_back(
          {{!won_here, !is_like, kernel.operation->distance(problem, winner.problem), !is_own},
           {.configuration = kernel.space.validated(winner.configuration),
            .won_here = won_here,
            .other_device = is_own ? "" : winner.device_label,
            .is_expected = won_here}});
    } catch (const UsageError&) {
      continue;
    }
  }
  std::ranges::stable_sort(near, [](const Near& a, const Near& b) { return a.rank < b.rank; });
  return near;
}

}  // namespace

std::vector<WarmStart> warm_starts(const Problem& problem, const std::string& device_class,
                                   const CandidateSpace& space, std::span<const Winner> winners,
                                   std::span<const Suggestion> suggestions) {
  std::vector<Near> near = nearest(problem, device_class, space, winners);
  std::vector<WarmStart> points;
  const auto add = [&](WarmStart point, std::size_t most) {
    const auto same = std::ranges::find(points, point.configuration, &WarmStart::configuration);
    if (same != points.end()) {
      if (same->other_device.empty()) same->other_device = point.other_device;
    } else if (points.size() < most && space.index_of(point.configuration)) {
      points.push_back(std::move(point));
    }
  };
  for (const Near& one : near) {
    if (one.start.won_here) add(one.start, kMost);
  }
  for (const Suggestion& suggestion : suggestions) {
    if (suggestion.kernel == space.kernel) add({suggestion.configuration}, kMostSuggested);
  }
  add({space.kernel->default_configuration(problem)}, kMost);
  for (Near& one : near) add(std::move(one.start), kMost);
  return points;
}

}  // namespace autotune
