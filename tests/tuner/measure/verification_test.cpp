#include "tuner/measure/verification.hpp"

#include <vector>

#include <doctest/doctest.h>

namespace autotune {
namespace {

TEST_SUITE("Verification") {
  TEST_CASE("the error bound is the deterministic one for few terms") {
    CHECK(error_bound(1, InputData::uniform) == 4);
    CHECK(error_bound(9, InputData::uniform) == 12);
    CHECK(error_bound(16, InputData::uniform) == 19);
  }

  TEST_CASE("the error bound grows with the root for many terms") {
    CHECK(error_bound(100, InputData::uniform) == 44);
    CHECK(error_bound(10000, InputData::uniform) == 404);
    CHECK(error_bound(10000, InputData::linear) == 10003);
  }

  TEST_CASE("findings of blocks are merged field by field") {
    const Finding all = merged(std::vector<Finding>{
        {1.5, 1, 10, 2, 40, 0}, {0.5, 2, 20, 1, 7, 3}, {2.5, 4, 40, 0, 99, 1}});
    CHECK(all.max_error_ratio == 2.5);
    CHECK(all.error_squares == 7);
    CHECK(all.reference_squares == 70);
    CHECK(all.wrong == 3);
    CHECK(all.first_wrong == 7);
    CHECK(all.outside == 4);
  }

  TEST_CASE("the frobenius error is relative") {
    CHECK(frobenius_error({.error_squares = 4, .reference_squares = 100}) == doctest::Approx(0.2));
    CHECK(frobenius_error({}) == 0);  // a product of zeros
  }

  TEST_CASE("a clean finding is ok") {
    const CheckOutcome outcome = outcome_of({}, {.m = 2, .n = 3, .k = 4}, "on integers");
    CHECK(outcome.ok());
    CHECK(outcome.detail.empty());
  }

  TEST_CASE("wrong elements are counted and the first is named") {
    const CheckOutcome outcome =
        outcome_of({.wrong = 2, .first_wrong = 10}, {.m = 4, .n = 4, .k = 1}, "on integers");
    CHECK(outcome.status == TrialStatus::wrong_result);
    CHECK(outcome.detail == "2 of 16 elements are wrong on integers, the first in row 2, column 2");
  }

  TEST_CASE("a write outside of C counts more than wrong elements") {
    const CheckOutcome outcome =
        outcome_of({.wrong = 2, .outside = 1}, {.m = 4, .n = 4, .k = 1}, "on random data");
    CHECK(outcome.status == TrialStatus::out_of_bounds);
    CHECK(outcome.detail == "wrote to 1 word outside of C on random data");
  }
}

}  // namespace
}  // namespace autotune
