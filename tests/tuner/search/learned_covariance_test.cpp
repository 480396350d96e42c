#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "tuner/search/surrogate/time_model.hpp"

namespace autotune {
namespace {

// Every second configuration of three parameters with five values each.
template <typename Value>
LearnedCovariance learned(Value value) {
  Points points;
  std::vector<double> values;
  for (int i = 0; i < 125; i += 2) {
    const int place[] = {i % 5, i / 5 % 5, i / 25};
    for (const int coordinate : place) points.push_back(static_cast<float>(coordinate) / 4);
    values.push_back(value(place[0], place[1], place[2]));
  }
  LearnedCovariance covariance;
  covariance.learn_when_due(points, values, values.size());
  return covariance;
}

// The weight of the covariance with a step.
double weight_of_step(const LearnedCovariance& learned) {
  double weight = 0;
  double all = 0;
  for (const WeighedCovariance& each : learned.weighed()) {
    weight += each.covariance.step ? each.weight : 0;
    all += each.weight;
  }
  CHECK(all == doctest::Approx(1).epsilon(0.03));
  return weight;
}

}  // namespace

TEST_SUITE("LearnedCovariance") {
  TEST_CASE("near values with near results give a smooth covariance") {
    const LearnedCovariance covariance =
        learned([](int x, int y, int z) { return std::sin(0.5 * x) + y + 0.2 * z; });
    CHECK(weight_of_step(covariance) < 0.2);
  }

  TEST_CASE("values whose results have no order give one with a step") {
    constexpr double kLosses[] = {1, 2, 3, 0, 3};
    const LearnedCovariance covariance =
        learned([&](int x, int y, int z) { return kLosses[x] + kLosses[y] + kLosses[z]; });
    CHECK(weight_of_step(covariance) > 0.9);
    CHECK(1 / (1 + std::exp(-*covariance.weighed().back().covariance.step)) > 0.3);
  }

  TEST_CASE("it is learned again as soon as a quarter more is known") {
    LearnedCovariance covariance =
        learned([](int x, int y, int z) { return std::sin(0.5 * x) + y + 0.2 * z; });
    const std::vector<double> before = covariance.weighed().front().covariance.log_scales;
    const Points points = {0, 0, 0, 0.5F, 1, 0, 1, 0, 1};
    covariance.learn_when_due(points, {1, 2, 1}, 77);
    CHECK(covariance.weighed().front().covariance.log_scales == before);
    covariance.learn_when_due(points, {1, 2, 1}, 78);
    CHECK(covariance.weighed().front().covariance.log_scales != before);
  }
}

TEST_SUITE("Correlation") {
  TEST_CASE("a step counts in full between any two values, and not at all between equal ones") {
    Covariance covariance = Covariance::stepped(2);
    const float origin[] = {0, 0};
    const float near[] = {0.01F, 0};
    const float far[] = {1, 0};
    const Correlation smooth(Covariance::smooth(2));
    covariance.step = 10;  // all of the weight
    const Correlation stepped(covariance);
    CHECK(stepped(origin, origin) == 1);
    CHECK(stepped(origin, near) == doctest::Approx(stepped(origin, far)).epsilon(0.001));
    CHECK(stepped(origin, far) == doctest::Approx(smooth(origin, far)).epsilon(0.001));
    CHECK(smooth(origin, near) > 0.999);
  }
}

}  // namespace autotune
