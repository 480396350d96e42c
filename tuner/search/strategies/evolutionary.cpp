// A steady-state genetic algorithm: a child of two good configurations joins the population when it
// is among the fittest.
#include "tuner/search/strategies/offspring.hpp"
#include "tuner/search/strategies/untried.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {
namespace {

class Evolutionary : public SearchStrategy {
 public:
  explicit Evolutionary(const SearchSpace& space)
      : untried_(space.configurations->size(), space.seed),
        offspring_(*space.configurations, space.seed, kPopulation) {}

  std::optional<std::size_t> next() override {
    const std::size_t turn = turn_++;
    std::optional<std::size_t> index;
    if (turn >= kFirst && turn % kImmigrants != 0) index = offspring_.child(untried_);
    if (!index) return untried_.take_next();
    untried_.take(*index);
    return index;
  }

  void report(std::size_t index, const Trial& trial) override {
    untried_.take(index);
    offspring_.report(index, trial);
  }

 private:
  static constexpr std::size_t kFirst = 20;       // random proposals before there are parents
  static constexpr std::size_t kPopulation = 16;  // size
  static constexpr std::size_t kImmigrants = 10;  // one proposal in this many is random

  Untried untried_;
  Offspring offspring_;
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<SearchStrategy> make_evolutionary(const SearchSpace& space) {
  return std::make_unique<Evolutionary>(space);
}

}  // namespace autotune
