#include "tuner/measure/launch_timer.hpp"

#include <doctest/doctest.h>

namespace autotune {
namespace {

TEST_SUITE("LaunchTimer") {
  TEST_CASE("an estimate far above the limit stands for a sample") {
    const auto measurement = screened_out({.stop_above_us = 100}, 130);
    REQUIRE(measurement.has_value());
    CHECK(measurement->screened_out);
    CHECK(measurement->samples_us == std::vector<double>{130});
    CHECK(measurement->median_us == 130);
    CHECK(measurement->launches_per_sample == 1);
  }

  TEST_CASE(
      "an estimate that a first launch or the cost of events may have raised is not trusted") {
    CHECK(!screened_out({.stop_above_us = 100}, 120).has_value());
  }

  TEST_CASE("without a limit nothing is screened out") {
    CHECK(!screened_out({.stop_above_us = 0}, 1e9).has_value());
  }
}

}  // namespace
}  // namespace autotune
