#include "tuner/replay/stopping.hpp"

#include <cmath>

#include <doctest/doctest.h>

namespace autotune {
namespace {

// 400 configurations, smooth or not.
RecordedSpace recorded(bool smooth) {
  RecordedSpace space;
  space.best_us = 10;
  for (std::int64_t i = 0; i < 400; ++i) {
    const std::int64_t x = i % 20;
    const std::int64_t y = i / 20;
    space.configurations.push_back(Configuration({{"X", x}, {"Y", y}}));
    const std::int64_t steps = smooth ? std::abs(x - 7) + std::abs(y - 12) : i * 7919 % 400;
    space.outcomes.push_back({TrialStatus::ok, 10 + static_cast<double>(steps)});
    ++space.correct;
  }
  return space;
}

TEST_SUITE("replay_until") {
  TEST_CASE("runs in a space that is understood end early and are right") {
    ThreadPool threads(2);
    const StoppingRecord record =
        replay_until(0.98, recorded(true), "model", {.trials = 399, .repeats = 4}, threads);
    CHECK(record.stopped == 1);
    CHECK(record.mean_trials < 350);
    CHECK(record.right == 1);
  }

  TEST_CASE("runs of a strategy of which nothing is known go on") {
    ThreadPool threads(2);
    const StoppingRecord record =
        replay_until(0.98, recorded(true), "random", {.trials = 399, .repeats = 5}, threads);
    CHECK(record.stopped == 0);
    CHECK(record.right == 0);
  }
}

}  // namespace
}  // namespace autotune
