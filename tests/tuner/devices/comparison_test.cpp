#include "tuner/devices/comparison.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

namespace autotune::test {
namespace {

Comparison compared(const std::vector<double>& own, const std::vector<double>& other) {
  return compare_samples(own, other);
}

TEST_SUITE("comparison of two kernels") {
  TEST_CASE("a difference counts when the whole interval is beyond half a percent") {
    const std::vector<double> own(15, 100);
    CHECK(compared(own, std::vector<double>(15, 100.6)).verdict == Verdict::faster);
    CHECK(compared(own, std::vector<double>(15, 99.4)).verdict == Verdict::slower);
    for (const double other : {99.6, 100.0, 100.4}) {
      CHECK(compared(own, std::vector<double>(15, other)).verdict == Verdict::no_difference);
    }
    // The interval leaves out the three lowest and the three highest of 15 rounds.
    std::vector<double> mixed(15, 110);
    for (int i = 0; i < 3; ++i) mixed[static_cast<std::size_t>(i)] = 90;
    CHECK(compared(own, mixed).verdict == Verdict::faster);
    for (int i = 0; i < 4; ++i) mixed[static_cast<std::size_t>(i)] = 90;
    CHECK(compared(own, mixed).verdict == Verdict::no_difference);
    CHECK(compared(own, mixed).speedup == doctest::Approx(1.1));
    CHECK(compared(own, mixed).interval.low == doctest::Approx(0.9));
  }

  TEST_CASE("what changes both kernels of a round changes nothing") {
    const std::vector<double> own = {100, 200, 50, 100, 400, 100};
    const std::vector<double> other = {120, 240, 60, 120, 480, 120};
    const Comparison comparison = compared(own, other);
    CHECK(comparison.speedup == doctest::Approx(1.2));
    CHECK(comparison.interval.low == doctest::Approx(1.2));
    CHECK(comparison.interval.high == doctest::Approx(1.2));
    CHECK(to_string(comparison.verdict) == "faster");
  }

  TEST_CASE("too few rounds, and rounds of one kernel alone, are refused") {
    const std::vector<double> five(5, 1);
    const std::vector<double> six(6, 1);
    CHECK_THROWS_AS(compared(five, five), Error);
    CHECK_THROWS_AS(compared(six, five), Error);
    CHECK(to_string(compared(six, six).verdict) == "no difference");
  }
}

}  // namespace
}  // namespace autotune::test
