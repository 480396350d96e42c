#include "tuner/search/surrogate/prior_mean.hpp"

#include <doctest/doctest.h>

namespace autotune {
namespace {

// Rates of 1, 2, 3, ...
PriorMean prior_mean_of(std::size_t configurations, double scale = 1) {
  return PriorMean([scale](std::size_t index) { return scale / static_cast<double>(index + 1); },
                   configurations);
}

TEST_SUITE("PriorMean") {
  TEST_CASE("without an estimate it says nothing") {
    PriorMean prior({}, 4);
    prior.fit({0, 1}, {0.5, 0});
    CHECK_FALSE(prior.exists());
    CHECK(prior.loss(3) == 0);
  }

  TEST_CASE("many trials on a line give the line, in whatever unit the estimate is") {
    for (const double scale : {1.0, 1e9}) {
      PriorMean prior = prior_mean_of(100, scale);
      std::vector<std::size_t> indices;
      std::vector<double> losses;
      for (std::size_t i = 0; i < 99; ++i) {
        indices.push_back(i);
        losses.push_back(1 - 0.004 * static_cast<double>(i));
      }
      prior.fit(indices, losses);
      CHECK(prior.loss(49) == doctest::Approx(0).epsilon(1e-6));  // their mean
      CHECK(prior.loss(99) == doctest::Approx(-0.2).epsilon(0.02));
      CHECK(prior.loss(0) == doctest::Approx(0.196).epsilon(0.02));
    }
  }

  TEST_CASE("trials of one rate give proportion") {
    PriorMean prior = prior_mean_of(20);
    prior.fit({9, 9}, {0.2, 0.2});
    CHECK(prior.loss(4) == doctest::Approx(0.4));  // half the rate: 0.8 / 2 less
  }

  TEST_CASE("trials of nearly one rate do not turn it round") {
    const auto estimate = [](std::size_t index) { return 1 + 1e-4 * static_cast<double>(index); };
    PriorMean prior(estimate, 11);
    prior.fit({0, 1, 2, 3, 4, 5}, {0.5, 0.4, 0.3, 0.2, 0.1, 0});
    CHECK(prior.loss(10) > 0);
    CHECK(prior.loss(10) < 0.01);
  }
}

}  // namespace
}  // namespace autotune
