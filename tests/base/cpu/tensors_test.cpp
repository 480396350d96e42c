#include "cpu/operands.hpp"

#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

using autotune::PoisonedMatrix;
using autotune::ThreadPool;

namespace {

constexpr std::int64_t kCount = 300'000;  // more than one piece of work

double mean(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

TEST_SUITE("operands") {
  TEST_CASE("integers take all five values about equally often") {
    ThreadPool pool(2);
    const std::vector<float> values = autotune::random_integers(kCount, 1, pool);
    for (const float value : {-2.F, -1.F, 0.F, 1.F, 2.F}) {
      const auto count = std::count(values.begin(), values.end(), value);
      CHECK(count > kCount / 5 - 2000);
      CHECK(count < kCount / 5 + 2000);
    }
  }

  TEST_CASE("uniform values lie within the open interval") {
    ThreadPool pool(2);
    const std::vector<float> values = autotune::random_uniform(kCount, 1, pool);
    const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    CHECK(*least > -1);
    CHECK(*least < -0.999);
    CHECK(*greatest < 1);
    CHECK(*greatest > 0.999);
    CHECK(mean(values) == doctest::Approx(0).epsilon(0.01));
  }

  TEST_CASE("values depend on the seed and on nothing else") {
    ThreadPool one(1);
    ThreadPool four(4);
    const auto values = autotune::random_uniform(kCount, 7, one);
    CHECK(values == autotune::random_uniform(kCount, 7, four));
    CHECK(values != autotune::random_uniform(kCount, 8, one));
  }

  TEST_CASE("linear values are evenly spaced") {
    ThreadPool pool(2);
    CHECK(autotune::linear(4, 0, 1, pool) == std::vector<float>{0, 0.25, 0.5, 0.75});
    CHECK(autotune::linear(4, 1, 0, pool) == std::vector<float>{1, 0.75, 0.5, 0.25});
  }
}

TEST_SUITE("PoisonedMatrix") {
  TEST_CASE("it tells which elements were written") {
    ThreadPool pool(2);
    PoisonedMatrix matrix(3, 5);
    matrix.poison(pool);
    CHECK_FALSE(matrix.any_written(1, 0, 5));
    matrix.data()[1 * 5 + 2] = 0;
    CHECK(matrix.written(1, 2));
    CHECK_FALSE(matrix.written(1, 1));
    CHECK(matrix.any_written(1, 0, 5));
    CHECK_FALSE(matrix.any_written(1, 3, 2));
    CHECK(matrix.written_outside() == 0);
    matrix.poison(pool);
    CHECK_FALSE(matrix.written(1, 2));
  }

  TEST_CASE("it counts writes right before and behind the elements") {
    ThreadPool pool(1);
    PoisonedMatrix matrix(3, 5);
    matrix.poison(pool);
    matrix.data()[-1] = 0;
    matrix.data()[15] = 0;
    matrix.data()[19] = 0;  // where a fourth row would end
    CHECK(matrix.written_outside() == 3);
  }
}
