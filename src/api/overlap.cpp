#include "api/overlap.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace autotune {
namespace {

using Repeat = ElementRuns::Repeat;
__extension__ using Wide = unsigned __int128;

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - static_cast<std::int64_t>(a % b < 0);
}

// The sum of the floors of (a * i + b) / m for i from 0 to n - 1, by Euclid's algorithm.
Wide sum_of_floors(Wide n, Wide m, Wide a, Wide b) {
  Wide sum = 0;
  while (true) {
    sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
    const Wide last = a % m * n + b % m;
    if (last < m) return sum;
    a = std::exchange(m, a % m);
    n = last / a;
    b = last % a;
  }
}

// The question whether a sum of multiples, one of each step, lies in an interval.
class Multiples {
 public:
  Multiples(std::int64_t low, std::int64_t high) : low_(low), high_(high) {}

  // From 0 to count - 1 times the step.
  void add(Repeat repeat) {
    if (repeat.count == 1 || repeat.step == 0) return;
    for (Repeat& known : std::span(terms_).first(size_)) {
      if (known.step == repeat.step) {
        known.count += repeat.count - 1;
        return;
      }
    }
    terms_[size_++] = repeat;
  }
  // From 0 to count - 1 times the negative step.
  void subtract(Repeat repeat) {
    low_ += (repeat.count - 1) * repeat.step;
    high_ += (repeat.count - 1) * repeat.step;
    add(repeat);
  }

  [[nodiscard]] bool reach() {
    std::span<Repeat> terms = std::span(terms_).first(size_);
    std::sort(terms.begin(), terms.end(),
              [](const Repeat& a, const Repeat& b) { return a.step < b.step; });
    // Multiples of a step that is no longer than the interval leave no gaps.
    while (!terms.empty() && terms.front().step <= high_ - low_ + 1) {
      low_ -= (terms.front().count - 1) * terms.front().step;
      terms = terms.subspan(1);
    }
    int tries = kMostTries;
    return reach(low_, high_, terms, tries);
  }

 private:
  using Terms = std::span<const Repeat>;
  struct Range {
    std::int64_t first, last;
  };
  static constexpr int kMostTries = 2000;

  // The multiples of the largest step that the other terms can bring into the interval.
  static Range range_of_largest(std::int64_t low, std::int64_t high, Terms terms) {
    std::int64_t rest = 0;
    for (const Repeat& term : terms.first(terms.size() - 1)) rest += (term.count - 1) * term.step;
    const Repeat& largest = terms.back();
    return {std::max<std::int64_t>(0, -floor_quotient(rest - low, largest.step)),
            std::min(largest.count - 1, floor_quotient(high, largest.step))};
  }

  // All steps are longer than the interval, and they ascend.
  static bool reach(std::int64_t low, std::int64_t high, Terms terms, int& tries) {
    if (terms.empty()) return low <= 0 && high >= 0;
    const auto [first, last] = range_of_largest(low, high, terms);
    if (first > last || terms.size() == 1) return first <= last;
    const std::int64_t step = terms.back().step;
    if (terms.size() == 2) {
      return is_reached(low - last * step, high - last * step, last - first + 1, step,
                        terms.front().step);
    }
    for (std::int64_t i = first; i <= last; ++i) {
      if (--tries < 0) return true;
      if (reach(low - i * step, high - i * step, terms.first(terms.size() - 1), tries)) return true;
    }
    return false;
  }

  // Returns whether one of `count` intervals, each the larger step above the one before, holds a
  // multiple of the smaller step: it does if its end has a remainder below its length.
  static bool is_reached(std::int64_t low, std::int64_t high, std::int64_t count,
                         std::int64_t larger, std::int64_t smaller) {
    const auto floors = [&](std::int64_t from) {
      return sum_of_floors(static_cast<Wide>(count), static_cast<Wide>(smaller),
                           static_cast<Wide>(larger), static_cast<Wide>(from));
    };
    return floors(high) + static_cast<Wide>(count) != floors(low - 1 + smaller);
  }

  std::int64_t low_;
  std::int64_t high_;
  std::array<Repeat, 4> terms_ = {};
  std::size_t size_ = 0;
};

}  // namespace

bool may_overlap(const ElementRuns& first, const ElementRuns& second, std::int64_t distance) {
  // Runs overlap where the distance of their beginnings is from 1 - second.length to
  // first.length - 1: that of the first two, and multiples of steps.
  Multiples multiples(1 - second.length - distance, first.length - 1 - distance);
  for (const Repeat& repeat : second.repeats) multiples.add(repeat);
  for (const Repeat& repeat : first.repeats) multiples.subtract(repeat);
  return multiples.reach();
}

}  // namespace autotune
