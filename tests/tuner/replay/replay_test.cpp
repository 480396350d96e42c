// Replays over made-up spaces whose curves are known beforehand.
#include "tuner/replay/replay.hpp"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

// Times in microseconds; 0 for a configuration that fails.
RecordedSpace space_with(const std::vector<double>& times) {
  RecordedSpace space;
  space.best_us = 1e300;
  for (std::size_t i = 0; i < times.size(); ++i) {
    space.configurations.push_back(Configuration({{"X", static_cast<std::int64_t>(i)}}));
    space.outcomes.push_back(
        {times[i] == 0 ? TrialStatus::run_timeout : TrialStatus::ok, times[i]});
    if (times[i] == 0) continue;
    ++space.correct;
    space.best_us = std::min(space.best_us, times[i]);
  }
  return space;
}

// Counts what it is asked and told.
struct CountingStrategy : SearchStrategy {
  explicit CountingStrategy(std::size_t count) : size(count) {}
  std::optional<std::size_t> next() override {
    if (asked == size) return std::nullopt;
    most_ahead = std::max(most_ahead, asked + 1 - told.size());
    return asked++;
  }
  void report(std::size_t index, const Trial&) override { told.push_back(index); }

  std::size_t size;
  std::size_t asked = 0;
  std::size_t most_ahead = 0;
  std::vector<std::size_t> told;
};

// The mean and the variance of the best of `draws` out of `parts`, drawn without replacement: the
// i-th best is the best of the draw with probability C(N - 1 - i, draws - 1) / C(N, draws).
std::pair<double, double> best_of(std::vector<double> parts, std::size_t draws) {
  std::sort(parts.begin(), parts.end(), std::greater<>());
  const auto left = static_cast<double>(parts.size());
  const auto n = static_cast<double>(draws);
  double probability = n / left;
  double mean = 0;
  double square = 0;
  for (std::size_t i = 0; i + draws <= parts.size(); ++i) {
    mean += probability * parts[i];
    square += probability * parts[i] * parts[i];
    const double below = left - 1 - static_cast<double>(i);
    if (below > 0) probability *= (below - n + 1) / below;
  }
  return {mean, square - mean * mean};
}

TEST_SUITE("replay") {
  TEST_CASE("curves are read after 10, 25, 50, 100 trials, doubled, and all") {
    using Counts = std::vector<std::size_t>;
    CHECK(checkpoints(400) == Counts{10, 25, 50, 100, 200, 400});
    CHECK(checkpoints(1000) == Counts{10, 25, 50, 100, 200, 400, 800, 1000});
    CHECK(checkpoints(10) == Counts{10});
    CHECK(checkpoints(3) == Counts{3});
  }

  TEST_CASE("the space in its order: the best so far, a failure costs a trial and never wins") {
    const RecordedSpace space = space_with({0, 8, 4, 0, 16, 2, 1, 3});
    const auto strategy = make_strategy("exhaustive", {.configurations = &space.configurations});
    CHECK(replay_once(space, *strategy, {.trials = 400}) ==
          std::vector<double>{0, 0.125, 0.25, 0.25, 0.25, 0.5, 1, 1});
  }

  TEST_CASE("no more trials than are allowed, and each is told before the next is asked for") {
    const RecordedSpace space = space_with(std::vector<double>(20, 1));
    CountingStrategy strategy(20);
    CHECK(replay_once(space, strategy, {.trials = 7}).size() == 7);
    CHECK(strategy.asked == 7);
    CHECK(strategy.told == std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6});
    CHECK(strategy.most_ahead == 1);
  }

  TEST_CASE("with several in flight it is asked ahead, and told in the same order") {
    const RecordedSpace space = space_with(std::vector<double>(20, 1));
    CountingStrategy strategy(20);
    CHECK(replay_once(space, strategy, {.trials = 9, .in_flight = 4}).size() == 9);
    CHECK(strategy.asked == 9);
    CHECK(strategy.told == std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(strategy.most_ahead == 4);
    CountingStrategy short_of(3);
    CHECK(replay_once(space, short_of, {.trials = 9, .in_flight = 4}).size() == 3);
  }

  TEST_CASE("a run that ends early stays at what it had") {
    ThreadPool threads(1);
    const ReplayCurve curve =
        replay(space_with({4, 2, 1}), "exhaustive", {.trials = 25, .repeats = 2}, threads);
    CHECK(curve.mean == std::vector<double>{1, 1});
  }

  TEST_CASE("random has the mean of drawing without replacement") {
    std::vector<double> times;
    std::vector<double> parts;
    for (int i = 0; i < 200; ++i) {
      const bool fails = i % 10 == 3;
      times.push_back(fails ? 0 : 10 + (i * 73) % 190);
      parts.push_back(fails ? 0 : 10 / times.back());
    }
    ThreadPool threads(2);
    const ReplayOptions options = {.trials = 50, .repeats = 400};
    const ReplayCurve curve = replay(space_with(times), "random", options, threads);
    const std::vector<std::size_t> counts = checkpoints(options.trials);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      CAPTURE(counts[i]);
      const auto [mean, variance] = best_of(parts, counts[i]);
      // Four standard errors of a mean over the repeats; the seed is fixed, so it is one draw.
      const double tolerance = 4 * std::sqrt(variance / static_cast<double>(options.repeats));
      CHECK(std::abs(curve.mean[i] - mean) < tolerance);
      CHECK(curve.low[i] < curve.mean[i]);
    }
  }

  TEST_CASE("the 5th percentile is that of the runs, by nearest rank") {
    // The second worst of 40 runs.
    std::vector<double> times;
    for (int i = 1; i <= 100; ++i) times.push_back(i);
    const RecordedSpace space = space_with(times);
    ThreadPool threads(1);
    const ReplayOptions options = {.trials = 1, .repeats = 40};
    std::vector<double> firsts;
    for (std::size_t repeat = 0; repeat < options.repeats; ++repeat) {
      const auto strategy = make_strategy(
          "random", {.configurations = &space.configurations, .seed = 1'000'003 + repeat});
      firsts.push_back(replay_once(space, *strategy, options).front());
    }
    std::sort(firsts.begin(), firsts.end());
    CHECK(replay(space, "random", options, threads).low.front() == firsts[1]);
  }

  TEST_CASE("a seed has one curve, whatever the number of threads; another has another") {
    std::vector<double> times;
    for (int i = 0; i < 300; ++i) times.push_back(1 + (i * 37) % 301);
    const RecordedSpace space = space_with(times);
    for (const std::string& name : strategy_names()) {
      CAPTURE(name);
      ThreadPool one(1);
      ThreadPool four(4);
      ReplayOptions options = {.trials = 60, .repeats = 20};
      const ReplayCurve first = replay(space, name, options, one);
      const ReplayCurve again = replay(space, name, options, four);
      CHECK(first.mean == again.mean);
      CHECK(first.low == again.low);
      options.seed = 2;
      if (name == "random") CHECK(replay(space, name, options, one).mean != first.mean);
    }
  }

  TEST_CASE("each run is told of once, and an unknown strategy is refused") {
    const RecordedSpace space = space_with({1, 2});
    ThreadPool threads(4);
    int runs = 0;
    static_cast<void>(replay(space, "random", {.repeats = 50}, threads, [&] { ++runs; }));
    CHECK(runs == 50);
    CHECK_THROWS_AS(replay(space, "psychic", {.repeats = 5}, threads), UsageError);
  }

  TEST_CASE("an average is that of the spaces, each counting alike") {
    const ReplayCurve all = average({{{0.5, 1}, {0.25, 1}}, {{1, 1}, {0.75, 0.5}}});
    CHECK(all.mean == std::vector<double>{0.75, 1});
    CHECK(all.low == std::vector<double>{0.5, 0.75});
  }
}

}  // namespace
}  // namespace autotune
