// Every configuration, in an order drawn from the seed, as a baseline for all other strategies.
#include "tuner/search/strategies/untried.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {
namespace {

class Random : public SearchStrategy {
 public:
  explicit Random(const SearchSpace& space) : untried_(space.configurations->size(), space.seed) {}

  std::optional<std::size_t> next() override { return untried_.take_next(); }
  void report(std::size_t index, const Trial&) override { untried_.take(index); }

 private:
  Untried untried_;
};

}  // namespace

std::unique_ptr<SearchStrategy> make_random(const SearchSpace& space) {
  return std::make_unique<Random>(space);
}

}  // namespace autotune
