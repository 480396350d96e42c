#include "tuner/search/strategies/neighbours.hpp"

namespace autotune {
namespace {

// The number of parameters that differ, counted up to one more than `most`.
std::size_t difference(const Configuration& a, const Configuration& b, std::size_t most) {
  const std::vector<std::int64_t>& left = a.values();
  const std::vector<std::int64_t>& right = b.values();
  std::size_t count = 0;
  for (std::size_t i = 0; i < left.size() && count <= most; ++i) {
    if (left[i] != right[i]) ++count;
  }
  return count;
}

}  // namespace

std::vector<Neighbour> find_neighbours(const std::vector<Configuration>& configurations,
                                       const Untried& untried, std::size_t leader,
                                       std::size_t most_different, std::size_t at_most) {
  std::vector<std::vector<Neighbour>> by_distance(most_different + 1);
  for (const std::size_t index : untried.order()) {
    if (!untried.contains(index)) continue;
    const std::size_t distance =
        difference(configurations[leader], configurations[index], most_different);
    if (distance <= most_different) by_distance[distance].push_back({index, distance});
  }
  std::vector<Neighbour> all;
  for (const std::vector<Neighbour>& some : by_distance) {
    all.insert(all.end(), some.begin(), some.end());
  }
  if (all.size() > at_most) all.resize(at_most);
  return all;
}

}  // namespace autotune
