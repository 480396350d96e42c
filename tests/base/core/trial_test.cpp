#include "core/trial.hpp"

#include <doctest/doctest.h>

#include "autotune/error.hpp"

using autotune::TrialStatus;

TEST_SUITE("Trial") {
  TEST_CASE("status names survive the way there and back") {
    for (int i = 0; i <= static_cast<int>(TrialStatus::run_crashed); ++i) {
      const auto status = static_cast<TrialStatus>(i);
      CHECK(autotune::trial_status_from_string(to_string(status)) == status);
    }
  }

  TEST_CASE("unknown status names and values are faults") {
    CHECK_THROWS_AS(static_cast<void>(autotune::trial_status_from_string("OK")), autotune::Error);
    const auto unknown = static_cast<TrialStatus>(static_cast<int>(TrialStatus::run_crashed) + 1);
    CHECK_THROWS_AS(static_cast<void>(to_string(unknown)), autotune::Error);
  }
}
