#include "tuner/search/strategies/offspring.hpp"

#include <algorithm>
#include <utility>

#include "tuner/search/strategies/neighbours.hpp"

namespace autotune {
namespace {

constexpr std::size_t kTournament = 3;  // entrants; the fittest becomes a parent
constexpr int kAttempts = 30;           // to get a child that is in the space and untried
// A mutant that replaces a child differs in at most this many parameters.
constexpr std::size_t kMostDifferent = 2;
constexpr std::size_t kNeighbours = 1'000;  // considered for a mutant

// Hashes the values alone. Two configurations with the same hash would merely share an entry.
std::uint64_t hash(const Configuration& configuration) {
  std::uint64_t result = 0xcbf29ce484222325;  // FNV-1a over whole values
  for (const std::int64_t value : configuration.values()) {
    result = (result ^ static_cast<std::uint64_t>(value)) * 0x100000001b3;
    result ^= result >> 29;
  }
  return result;
}

}  // namespace

std::optional<std::size_t> Offspring::child(const Untried& untried) {
  if (population_.size() < 2) return std::nullopt;
  if (places_.empty()) index_space();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Configuration& mother = configurations_[parent()];
    const Configuration& father = configurations_[parent()];
    const auto found = places_.find(hash(crossed(mother, father)));
    if (found != places_.end() && untried.contains(found->second)) return found->second;
  }
  return mutant(parent(), untried);
}

// A mutation takes a parameter's value from any configuration of the space.
Configuration Offspring::crossed(const Configuration& mother, const Configuration& father) {
  std::vector<std::int64_t> values = mother.values();
  const std::size_t mutated = draw(2) == 0 ? draw(values.size()) : values.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (draw(2) == 0) values[i] = father.values()[i];
    if (i != mutated) continue;
    values[i] = configurations_[draw(configurations_.size())].values()[i];
  }
  return mother.with(std::move(values));
}

std::optional<std::size_t> Offspring::mutant(std::size_t of, const Untried& untried) const {
  const auto neighbours =
      find_neighbours(configurations_, untried, of, kMostDifferent, kNeighbours);
  if (neighbours.empty()) return std::nullopt;
  return neighbours.front().index;
}

std::size_t Offspring::parent() {
  std::size_t best = population_.size() - 1;
  for (std::size_t i = 0; i < kTournament; ++i) best = std::min(best, draw(population_.size()));
  return population_[best];
}

void Offspring::index_space() {
  for (std::size_t i = 0; i < configurations_.size(); ++i) {
    places_.emplace(hash(configurations_[i]), static_cast<std::uint32_t>(i));
  }
}

}  // namespace autotune
