#include "core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

// 1, 2, ..., n in another order, so that a value is its rank.
std::vector<double> shuffled_ranks(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  std::shuffle(values.begin(), values.end(), std::mt19937_64(n));
  return values;
}

TEST_SUITE("Statistics") {
  TEST_CASE("the median of an odd count is the middle sample") {
    CHECK(median(std::vector{5.0}) == 5);
    CHECK(median(std::vector{9.0, 1.0, 4.0}) == 4);
    CHECK(median(std::vector{-1.0, -9.0, 7.0, 7.0, 0.0}) == 0);
  }

  TEST_CASE("the median of an even count is the mean of the middle two") {
    CHECK(median(std::vector{2.0, 1.0}) == 1.5);
    CHECK(median(std::vector{10.0, 2.0, 4.0, 1000.0}) == 7);
  }

  TEST_CASE("the median absolute deviation ignores outliers") {
    CHECK(median_absolute_deviation(std::vector{3.0}) == 0);
    // Median 2; deviations 1 1 0 0 2 4 7.
    CHECK(median_absolute_deviation(std::vector{1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0}) == 1);
    // Median 3.5; deviations 2.5 1.5 0.5 0.5 1.5 996.5.
    CHECK(median_absolute_deviation(std::vector{1.0, 2.0, 3.0, 4.0, 5.0, 1000.0}) == 1.5);
  }

  TEST_CASE("fewer than six samples have their range as interval") {
    for (std::size_t n = 1; n < 6; ++n) {
      const Interval interval = median_interval(shuffled_ranks(n));
      CHECK(interval.low == 1);
      CHECK(interval.high == static_cast<double>(n));
    }
  }

  TEST_CASE("the interval has the ranks of the binomial table") {
    struct Row {
      std::size_t n;
      double low;
      double high;
    };
    // By exact integer arithmetic: the largest j with 2 (C(n,0) + ... + C(n,j-1)) <= 2^n / 20.
    const Row table[] = {
        {6, 1, 6},         {7, 1, 7},          {8, 1, 8},     {9, 2, 8},     {10, 2, 9},
        {11, 2, 10},       {12, 3, 10},        {15, 4, 12},   {20, 6, 15},   {25, 8, 18},
        {30, 10, 21},      {51, 19, 33},       {100, 40, 61}, {101, 41, 61}, {1000, 469, 532},
        {2000, 956, 1045}, {5000, 2431, 2570},
    };
    for (const Row& row : table) {
      CAPTURE(row.n);
      const Interval interval = median_interval(shuffled_ranks(row.n));
      CHECK(interval.low == row.low);
      CHECK(interval.high == row.high);
    }
  }

  TEST_CASE("samples that are absent or no numbers are refused") {
    const std::vector<double> none;
    const std::vector<double> nan = {1, std::nan(""), 2};
    const std::vector<double> infinite = {1, std::numeric_limits<double>::infinity()};
    for (const auto& samples : {none, nan, infinite}) {
      CHECK_THROWS_AS(static_cast<void>(median(samples)), Error);
      CHECK_THROWS_AS(static_cast<void>(median_absolute_deviation(samples)), Error);
      CHECK_THROWS_AS(static_cast<void>(median_interval(samples)), Error);
    }
  }
}

}  // namespace
}  // namespace autotune
