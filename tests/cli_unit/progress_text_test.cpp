#include "cli/output/progress_text.hpp"

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

namespace autotune::test {
namespace {

TuneProgress::Best best(std::int64_t size, double gflops) {
  return {.problem = GemmProblem{.m = size, .n = size, .k = size}, .gflops = gflops};
}

// Half of the time and a tenth of the trials.
TuneProgress some_progress() {
  TuneProgress progress{.done = 100, .total = 1000, .failures = 3, .elapsed_s = 15};
  progress.remaining_s = 15;
  // The second size has been searched with two templates.
  progress.best = {best(1024, 40'000), best(2048, 51'000), best(2048, 53'200)};
  return progress;
}

TEST_SUITE("progress") {
  TEST_CASE("the bar is filled by time where time ends the search first") {
    CHECK(
        progress_text(some_progress(), 120) ==
        "search [############............]  15 s left  1024 40.0, 2048 53.2 TFLOP/s  100 tried, 3 "
        "failed");
  }

  TEST_CASE("the bar is filled by trials where these come to their end first") {
    TuneProgress progress = some_progress();
    progress.done = 750;
    CHECK(progress_text(progress, 100).rfind("search [##################......]  15 s left", 0) ==
          0);
    progress.remaining_s.reset();
    progress.best.clear();
    progress.failures = 0;
    CHECK(progress_text(progress, 100) == "search [##################......]  750/1000");
  }

  TEST_CASE("60 columns have the best rates, and 30 none of them") {
    CHECK(progress_text(some_progress(), 60) ==
          "search [####....]  15 s left  1024 40.0, 2048 53.2 TFLOP/s");
    TuneProgress progress = some_progress();
    for (std::int64_t size = 3000; size < 3010; ++size) progress.best.push_back(best(size, 60));
    CHECK(progress_text(progress, 60) == "search [####....]  15 s left  1024 40.0, +11 TFLOP/s");
    CHECK(progress_text(some_progress(), 30) == "search [####....]  15 s left");
    CHECK(progress_text(some_progress(), 10) == "search [##");
  }

  TEST_CASE("slow devices have their rates in GFLOP/s, and sizes their three numbers") {
    TuneProgress progress{.done = 1, .total = 2, .phase = "finals"};
    const GemmProblem problem{.m = 64, .n = 7, .k = 9};
    progress.best = {{.problem = problem, .gflops = 6.44}};
    CHECK(progress_text(progress, 80) ==
          "finals [############............]  64x7x9 6.4 GFLOP/s  1/2");
  }
}

}  // namespace
}  // namespace autotune::test
