// The time limits of workers.
#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "tuner/compile/time_limit.hpp"
#include "tuner/devices/time_limit.hpp"
#include "tuner/devices/trial_runner.hpp"

namespace autotune {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMost(30'000);
const Problem kProblem = GemmProblem{.m = 1024, .n = 1024, .k = 1024};
constexpr double kOperations = 2.0 * 1024 * 1024 * 1024;
constexpr milliseconds kLongestWork(107);  // its 2^31 operations at 2e10 a second

MeasureOptions options(double best_us) {
  return {.timing = {.stop_above_us = 1.25 * best_us}};
}

}  // namespace

TEST_SUITE("CompileTimeLimit") {
  TEST_CASE("is the longest until some compilations were seen, then some seconds") {
    CompileTimeLimit limit(kMost);
    for (int i = 0; i < 4; ++i) limit.took(0.3);
    CHECK(limit.limit() == kMost);
    limit.took(0.3);
    CHECK(limit.limit() == milliseconds(10'000));
  }

  TEST_CASE("is ten times the median where that is longer, but never longer than the longest") {
    CompileTimeLimit limit(kMost);
    for (const double seconds : {0.1, 1.5, 100.0, 1.5, 2.0}) limit.took(seconds);
    CHECK(limit.limit() == milliseconds(15'000));
    for (int i = 0; i < 10; ++i) limit.took(5);
    CHECK(limit.limit() == kMost);
  }

  TEST_CASE("follows the latest compilations") {
    CompileTimeLimit limit(kMost);
    for (int i = 0; i < 1000; ++i) limit.took(2);
    CHECK(limit.limit() == milliseconds(20'000));
    for (int i = 0; i < 60; ++i) limit.took(0.1);
    CHECK(limit.limit() == milliseconds(10'000));
  }
}

TEST_SUITE("RunTimeLimit") {
  TEST_CASE("without a best time it is what a kernel may take at most") {
    RunTimeLimit limit(kMost);
    CHECK(limit.limit(kProblem, kOperations, {}) == kMost + kLongestWork);
    limit.took(kProblem, 0.02);
    CHECK(limit.limit(kProblem, kOperations, {}) == kMost + kLongestWork);
  }

  TEST_CASE("it grows with the launches that were asked for, once the time of one is known") {
    RunTimeLimit limit(kMost);
    MeasureOptions many = {.timing = {.samples = 5, .launches_per_sample = 1000}};
    CHECK(limit.limit(kProblem, kOperations, many) == kMost + kLongestWork);
    many.expected_launch_us = 90'000;
    // Six times 1000 launches, each of at most four times 90 ms.
    CHECK(limit.limit(kProblem, kOperations, many) >= kMost + std::chrono::seconds(2160));
  }

  TEST_CASE("with one it is some seconds, the data's time and twenty times the best") {
    RunTimeLimit limit(kMost);
    limit.took(kProblem, 0.02);
    // Two launches that verify and one that is timed, of 20 x 100 us, and five samples of 2 ms.
    CHECK(limit.limit(kProblem, kOperations, options(100)) == milliseconds(5000 + 40 + 6 + 10));
    MeasureOptions many = options(100);
    many.timing.launches_per_sample = 10;
    CHECK(limit.limit(kProblem, kOperations, many) == milliseconds(5000 + 40 + 24 + 10));
  }

  TEST_CASE("the best time of a problem does not bound one that has no data yet") {
    RunTimeLimit limit(kMost);
    limit.took(kProblem, 0.02);
    const Problem other = GemmProblem{.m = 1024, .n = 1024, .k = 512};
    CHECK(limit.limit(other, kOperations, options(100)) > kMost);
  }

  TEST_CASE("it is never longer than without a best time") {
    RunTimeLimit limit(kMost);
    limit.took(kProblem, 100);
    CHECK(limit.limit(kProblem, kOperations, options(100)) == milliseconds(5000) + kLongestWork);
  }

  TEST_CASE("only the first answer is for the data: slow candidates do not lengthen it") {
    RunTimeLimit limit(kMost);
    limit.took(kProblem, 0.02);
    const milliseconds before = limit.limit(kProblem, kOperations, options(100));
    limit.took(kProblem, 4);
    CHECK(limit.limit(kProblem, kOperations, options(100)) == before);
  }

  TEST_CASE("a worker that has yet to open its device gets the whole allowance") {
    RunTimeLimit limit(kMost);
    limit.took(kProblem, 0.02);
    limit.lost_worker();
    CHECK(limit.limit(kProblem, kOperations, options(100)) == kMost + milliseconds(40 + 6 + 10));
    limit.took(kProblem, 0.02);
    CHECK(limit.limit(kProblem, kOperations, options(100)) < milliseconds(6000));
  }

  TEST_CASE("an allowance below the usual is kept") {
    RunTimeLimit limit(milliseconds(100));
    limit.took(kProblem, 0);
    CHECK(limit.limit(kProblem, kOperations, options(0.1)) == milliseconds(100 + 10));
  }
}

}  // namespace autotune
