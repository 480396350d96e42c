// A steady-state genetic algorithm: a child takes each parameter from one of two good parents and
// sometimes mutates; it joins the population when it is among the fittest.
#include <algorithm>
#include <random>
#include <unordered_map>

#include "tuner/search/strategies/leaders.hpp"
#include "tuner/search/strategies/neighbours.hpp"
#include "tuner/search/strategies/untried.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {
namespace {

class Evolutionary : public SearchStrategy {
 public:
  explicit Evolutionary(const SearchSpace& space)
      : configurations_(*space.configurations),
        untried_(configurations_.size(), space.seed),
        generator_(space.seed) {}

  std::optional<std::size_t> next() override {
    const std::size_t turn = turn_++;
    std::optional<std::size_t> index;
    if (turn >= kFirst && turn % kImmigrants != 0 && population_.size() > 1) index = child();
    if (!index) return untried_.take_next();
    untried_.take(*index);
    return index;
  }

  void report(std::size_t index, const Trial& trial) override {
    untried_.take(index);
    population_.report(index, trial);
  }

 private:
  static constexpr std::size_t kFirst = 20;       // random proposals before there are parents
  static constexpr std::size_t kPopulation = 16;  // size
  static constexpr std::size_t kTournament = 3;   // entrants; the fittest becomes a parent
  static constexpr int kAttempts = 30;            // to get a child that is in the space and untried
  // A mutant that replaces a child differs in at most this many parameters.
  static constexpr std::size_t kMostDifferent = 2;
  static constexpr std::size_t kNeighbours = 1'000;  // considered for a mutant
  static constexpr std::size_t kImmigrants = 10;     // one proposal in this many is random

  std::optional<std::size_t> child() {
    if (places_.empty()) index_space();
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Configuration& mother = configurations_[parent()];
      const Configuration& father = configurations_[parent()];
      const auto found = places_.find(hash(crossed(mother, father)));
      if (found != places_.end() && untried_.contains(found->second)) return found->second;
    }
    return mutant(parent());
  }

  // A mutation takes a parameter's value from any configuration of the space.
  Configuration crossed(const Configuration& mother, const Configuration& father) {
    std::vector<std::int64_t> values = mother.values();
    const std::size_t mutated = draw(2) == 0 ? draw(values.size()) : values.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (draw(2) == 0) values[i] = father.values()[i];
      if (i != mutated) continue;
      values[i] = configurations_[draw(configurations_.size())].values()[i];
    }
    return mother.with(std::move(values));
  }

  std::optional<std::size_t> mutant(std::size_t of) {
    const auto neighbours =
        find_neighbours(configurations_, untried_, of, kMostDifferent, kNeighbours);
    if (neighbours.empty()) return std::nullopt;
    return neighbours.front().index;
  }

  std::size_t parent() {
    std::size_t best = population_.size() - 1;
    for (std::size_t i = 0; i < kTournament; ++i) best = std::min(best, draw(population_.size()));
    return population_[best];
  }

  std::size_t draw(std::size_t below) { return below == 0 ? 0 : generator_() % below; }

  void index_space() {
    for (std::size_t i = 0; i < configurations_.size(); ++i) {
      places_.emplace(hash(configurations_[i]), static_cast<std::uint32_t>(i));
    }
  }

  // Hashes the values alone. Two configurations with the same hash would merely share an entry.
  static std::uint64_t hash(const Configuration& configuration) {
    std::uint64_t result = 0xcbf29ce484222325;  // FNV-1a over whole values
    for (const std::int64_t value : configuration.values()) {
      result = (result ^ static_cast<std::uint64_t>(value)) * 0x100000001b3;
      result ^= result >> 29;
    }
    return result;
  }

  const std::vector<Configuration>& configurations_;
  Untried untried_;
  std::mt19937_64 generator_;
  std::size_t turn_ = 0;
  Leaders population_{kPopulation};
  std::unordered_map<std::uint64_t, std::uint32_t> places_;
};

}  // namespace

std::unique_ptr<SearchStrategy> make_evolutionary(const SearchSpace& space) {
  return std::make_unique<Evolutionary>(space);
}

}  // namespace autotune
