// The configurations that a search has not tried, in an order drawn from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace autotune {

class Untried {
 public:
  Untried(std::size_t size, std::uint64_t seed) : order_(size), taken_(size), left_(size) {
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    // Fisher-Yates by hand: std::shuffle may differ between standard libraries.
    std::mt19937_64 generator(seed);
    for (std::size_t rest = size; rest > 1; --rest) {
      std::swap(order_[rest - 1], order_[generator() % rest]);
    }
  }

  [[nodiscard]] bool contains(std::size_t index) const { return !taken_[index]; }
  [[nodiscard]] std::size_t size() const { return left_; }
  // All configurations, tried or not, in the order of the seed.
  [[nodiscard]] const std::vector<std::uint32_t>& order() const { return order_; }

  void take(std::size_t index) {
    if (taken_[index]) return;
    taken_[index] = true;
    --left_;
  }

  // Takes the next in the order; nullopt when none is left.
  std::optional<std::size_t> take_next() {
    while (position_ < order_.size() && taken_[order_[position_]]) ++position_;
    if (position_ == order_.size()) return std::nullopt;
    take(order_[position_]);
    return order_[position_];
  }

 private:
  std::vector<std::uint32_t> order_;
  std::vector<bool> taken_;
  std::size_t left_;
  std::size_t position_ = 0;
};

}  // namespace autotune
