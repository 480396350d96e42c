#include "tuner/measure/verification.hpp"

#include <vector>

#include <doctest/doctest.h>

namespace autotune {
namespace {

TensorDesc output(std::int64_t rows, std::int64_t columns) {
  return {.rows = rows, .columns = columns, .row_stride = columns};
}

TEST_SUITE("Verification") {
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
    const CheckOutcome outcome = outcome_of({}, output(2, 3), "on integers");
    CHECK(outcome.ok());
    CHECK(outcome.detail.empty());
  }

  TEST_CASE("wrong elements are counted and the first is named") {
    const CheckOutcome outcome =
        outcome_of({.wrong = 2, .first_wrong = 10}, output(4, 4), "on integers");
    CHECK(outcome.status == TrialStatus::wrong_result);
    CHECK(outcome.detail == "2 of 16 elements are wrong on integers, the first in row 2, column 2");
  }

  TEST_CASE("one of several outputs is named") {
    TensorDesc counts = output(4, 4);
    counts.name = "counts";
    CHECK(outcome_of({.wrong = 2, .first_wrong = 10}, counts, "on integers", true).detail ==
          "2 of 16 elements of counts are wrong on integers, the first in row 2, column 2");
    CHECK(outcome_of({.outside = 1}, counts, "on integers", true).detail ==
          "wrote to 1 word outside of the output counts on integers");
  }

  TEST_CASE("an output that is wrong by its tolerance is described") {
    TensorDesc row = output(1, 16);
    row.name = "c";
    const Finding finding{.wrong = 2, .first_wrong = 10};
    const auto detail = [&](const TensorDesc& tensor, const WrongOutput& wrong) {
      const CheckOutcome outcome = outcome_of(finding, tensor, "on the first data", wrong);
      CHECK(outcome.status == TrialStatus::wrong_result);
      return outcome.detail;
    };
    CHECK(detail(row, {.value = "1.5", .expected = "-2"}) ==
          "2 of 16 elements of c are wrong on the first data; element 10 is 1.5, but -2 is "
          "expected");
    CHECK(detail(row, {.unwritten = 16}) == "wrote nothing to the output c on the first data");
    TensorDesc matrix = output(4, 4);
    matrix.name = "c";
    CHECK(detail(matrix, {.unwritten = 3, .first_unwritten = 7}) ==
          "left 3 of 16 elements of the output c unwritten on the first data, the first is row 1, "
          "column 3");
    CHECK(outcome_of({}, row, "on the first data", WrongOutput{}).ok());
    CHECK(outcome_of({.wrong = 1, .outside = 1}, row, "on the first data", WrongOutput{}).status ==
          TrialStatus::out_of_bounds);
  }

  TEST_CASE("a write outside of the output counts more than wrong elements") {
    const CheckOutcome outcome =
        outcome_of({.wrong = 2, .outside = 1}, output(4, 4), "on random data");
    CHECK(outcome.status == TrialStatus::out_of_bounds);
    CHECK(outcome.detail == "wrote to 1 word outside of the output on random data");
  }
}

}  // namespace
}  // namespace autotune
