// Every configuration, in an order drawn from the seed: the yardstick of all other strategies.
#include <numeric>
#include <random>

#include "tuner/strategy.hpp"

namespace autotune {
namespace {

class Random : public SearchStrategy {
 public:
  explicit Random(const SearchSpace& space)
      : order_(space.configurations->size()), done_(order_.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    // Fisher-Yates by hand: std::shuffle may differ between standard libraries.
    std::mt19937_64 generator(space.seed);
    for (std::size_t left = order_.size(); left > 1; --left) {
      std::swap(order_[left - 1], order_[generator() % left]);
    }
  }

  std::optional<std::size_t> next() override {
    while (position_ < order_.size() && done_[order_[position_]]) ++position_;
    if (position_ == order_.size()) return std::nullopt;
    return order_[position_++];
  }

  void report(std::size_t index, const Trial&) override { done_[index] = true; }

 private:
  std::vector<std::size_t> order_;
  std::vector<bool> done_;
  std::size_t position_ = 0;
};

}  // namespace

std::unique_ptr<SearchStrategy> make_random(const SearchSpace& space) {
  return std::make_unique<Random>(space);
}

}  // namespace autotune
