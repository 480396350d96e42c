// The contract of SearchStrategy (tuner/search/strategy.hpp), for every registered strategy.
#include "tuner/search/strategy.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

std::vector<Configuration> square_space(std::int64_t side) {
  std::vector<Configuration> configurations;
  for (std::int64_t x = 1; x <= side; ++x) {
    for (std::int64_t y = 1; y <= side; ++y) {
      configurations.push_back(Configuration({{"X", x}, {"Y", y}}));
    }
  }
  return configurations;
}

// Times have a valley, and some configurations fail.
Trial trial_of(std::size_t index) {
  Trial trial;
  trial.measurement.median_us = 10 + static_cast<double>(index % 37);
  if (index % 11 == 0) trial.status = TrialStatus::compile_failed;
  return trial;
}

// Runs a strategy to its end, with `ahead` proposals before the first is reported.
std::vector<std::size_t> run_to_end(SearchStrategy& strategy, std::size_t ahead) {
  std::vector<std::size_t> named;
  std::size_t reported = 0;
  while (const auto index = strategy.next()) {
    named.push_back(*index);
    if (named.size() - reported > ahead) {
      strategy.report(named[reported], trial_of(named[reported]));
      ++reported;
    }
  }
  return named;
}

// 15,625 configurations.
std::vector<Configuration> hypercube() {
  std::vector<Configuration> space;
  for (std::int64_t i = 0; i < 15'625; ++i) {
    Configuration configuration;
    std::int64_t rest = i;
    for (const char* name : {"A", "B", "C", "D", "E", "F"}) {
      configuration.set(name, rest % 5);
      rest /= 5;
    }
    space.push_back(std::move(configuration));
  }
  return space;
}

// The more parameters are right, the faster.
double wrong_values(const Configuration& configuration) {
  double result = 10;
  for (const auto& [name, value] : configuration.entries()) result += value == 3 ? 0 : 1;
  return result;
}

// As above, but the right value of each parameter is between the two worst ones.
double misplaced_values(const Configuration& configuration) {
  constexpr double kLosses[] = {1, 2, 3, 0, 3};
  double result = 10;
  for (const auto& [name, value] : configuration.entries()) result += kLosses[value];
  return result;
}

// Larger products are faster up to a limit behind which all fail (0). F is of no use.
double balance(const Configuration& configuration) {
  const auto value = [&](const char* name) { return static_cast<double>(configuration.at(name)); };
  const double product = (1 + value("A")) * (1 + value("B")) * (1 + value("C"));
  return product > 48 ? 0 : (4 + std::abs(value("D") - 1) + std::abs(value("E") - 4)) / product;
}

// A time of 0 means failure.
Trial trial_taking(double time_us) {
  Trial trial;
  trial.measurement.median_us = time_us;
  if (time_us == 0) trial.status = TrialStatus::launch_failed;
  return trial;
}

// The least time of this many trials, each reported once `ahead` more were proposed.
double best_after(int trials, const std::string& name, const std::vector<Configuration>& space,
                  std::uint64_t seed, std::size_t ahead, double (*time_us)(const Configuration&),
                  Prior estimate = {}) {
  const auto strategy = make_strategy(
      name, {.configurations = &space, .seed = seed, .estimate = std::move(estimate)});
  std::deque<std::size_t> waiting;
  double best = 1e9;
  for (int i = 0; i < trials; ++i) {
    while (waiting.size() < ahead) waiting.push_back(strategy->next().value());
    const Trial trial = trial_taking(time_us(space[waiting.front()]));
    if (trial.ok()) best = std::min(best, trial.measurement.median_us);
    strategy->report(waiting.front(), trial);
    waiting.pop_front();
  }
  return best;
}

// Nothing tells the fast half from the slow one.
double unpredictable(const Configuration& configuration) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::int64_t value : configuration.values()) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x100000001b3;
  }
  return (hash >> 40) % 2 == 0 ? 10 : 100;
}

std::size_t different_values(const Configuration& a, const Configuration& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.values().size(); ++i) count += a.values()[i] != b.values()[i];
  return count;
}

// How many of the 20 proposals for which `model` goes by the fastest trials, from the 36th on,
// differ from each of the three fastest in more than two parameters, as no neighbour does.
int proposals_off_the_leaders(const std::vector<Configuration>& space, std::uint64_t seed,
                              double (*time_us)(const Configuration&)) {
  const auto strategy = make_strategy("model", {.configurations = &space, .seed = seed});
  std::vector<std::pair<double, std::size_t>> trials;
  int result = 0;
  for (int count = 1; count <= 93; ++count) {
    const std::size_t index = strategy->next().value();
    std::sort(trials.begin(), trials.end());
    if (count >= 36 && count % 3 == 0) {
      result += std::none_of(trials.begin(), trials.begin() + 3, [&](const auto& trial) {
        return different_values(space[trial.second], space[index]) <= 2;
      });
    }
    trials.emplace_back(time_us(space[index]), index);
    strategy->report(index, trial_taking(trials.back().first));
  }
  return result;
}

TEST_SUITE("SearchStrategy") {
  TEST_CASE("names are in alphabetical order") {
    const auto names = strategy_names();
    CHECK(std::is_sorted(names.begin(), names.end()));
    CHECK(std::find(names.begin(), names.end(), "exhaustive") != names.end());
    CHECK(std::find(names.begin(), names.end(), "random") != names.end());
  }

  TEST_CASE("an unknown name is refused with the known ones") {
    const std::vector<Configuration> space;
    try {
      static_cast<void>(make_strategy("psychic", {.configurations = &space}));
      FAIL("accepted");
    } catch (const UsageError& error) {
      const std::string text = error.what();
      CHECK(text.find("psychic") != std::string::npos);
      for (const std::string& name : strategy_names()) CHECK(text.find(name) != std::string::npos);
    }
  }

  TEST_CASE("every strategy names each index at most once and ends") {
    const auto space = square_space(20);
    for (const std::string& name : strategy_names()) {
      for (const std::size_t ahead : {0, 1, 40}) {
        CAPTURE(name);
        CAPTURE(ahead);
        const auto strategy = make_strategy(name, {.configurations = &space, .seed = 3});
        const auto named = run_to_end(*strategy, ahead);
        CHECK(named.size() > 0);
        CHECK(std::set(named.begin(), named.end()).size() == named.size());
        CHECK(*std::max_element(named.begin(), named.end()) < space.size());
        CHECK_FALSE(strategy->next());
      }
    }
  }

  TEST_CASE("no strategy names what was reported before") {
    const auto space = square_space(12);
    for (const std::string& name : strategy_names()) {
      CAPTURE(name);
      const auto strategy = make_strategy(name, {.configurations = &space, .seed = 5});
      for (std::size_t i = 0; i < space.size(); i += 2) strategy->report(i, trial_of(i));
      for (const std::size_t index : run_to_end(*strategy, 3)) CHECK(index % 2 == 1);
    }
  }

  TEST_CASE("what is reported in the middle of a search is not named later") {
    const auto space = square_space(10);
    for (const std::string& name : strategy_names()) {
      CAPTURE(name);
      const auto strategy = make_strategy(name, {.configurations = &space, .seed = 5});
      std::set<std::size_t> seen;
      for (int i = 0; i < 10; ++i) seen.insert(strategy->next().value());
      for (std::size_t i = 0; i < 50; ++i) strategy->report(i, trial_of(i));
      while (const auto index = strategy->next()) {
        CHECK(*index >= 50);
        CHECK(seen.insert(*index).second);
      }
    }
  }

  TEST_CASE("every strategy is deterministic for a seed") {
    const auto space = square_space(15);
    for (const std::string& name : strategy_names()) {
      CAPTURE(name);
      const SearchSpace seeded{.configurations = &space, .seed = 42};
      const auto first = run_to_end(*make_strategy(name, seeded), 4);
      CHECK(first == run_to_end(*make_strategy(name, seeded), 4));
    }
  }

  TEST_CASE("every strategy ends at once in a space that is empty or known") {
    const std::vector<Configuration> empty;
    const auto space = square_space(4);
    for (const std::string& name : strategy_names()) {
      CAPTURE(name);
      CHECK_FALSE(make_strategy(name, {.configurations = &empty})->next());
      const auto strategy = make_strategy(name, {.configurations = &space});
      for (std::size_t i = 0; i < space.size(); ++i) strategy->report(i, trial_of(i));
      CHECK_FALSE(strategy->next());
    }
  }

  // A strategy that looks through the space at each call would not end within the test's time.
  TEST_CASE("every strategy gets through a million configurations") {
    const std::vector<Configuration> space(1'000'000);
    for (const std::string& name : strategy_names()) {
      CAPTURE(name);
      const auto strategy = make_strategy(name, {.configurations = &space});
      for (std::size_t i = 0; i < space.size() - 1000; ++i) strategy->report(i, {});
      for (int i = 0; i < 1000; ++i) REQUIRE(strategy->next().has_value());
    }
  }

  TEST_CASE("every strategy gets through spaces with nothing to learn from") {
    const std::vector<Configuration> one = {Configuration({{"X", 4}})};
    std::vector<Configuration> line;
    for (std::int64_t x = 0; x < 60; ++x) line.push_back(Configuration({{"X", x - 5}, {"Y", 7}}));
    for (const std::string& name : strategy_names()) {
      CAPTURE(name);
      CHECK(run_to_end(*make_strategy(name, {.configurations = &one}), 0).size() == 1);
      CHECK(run_to_end(*make_strategy(name, {.configurations = &line}), 2).size() == 60);
      const auto strategy = make_strategy(name, {.configurations = &line});
      Trial failed;
      failed.status = TrialStatus::run_crashed;
      std::set<std::size_t> seen;
      while (const auto index = strategy->next()) {
        CHECK(seen.insert(*index).second);
        strategy->report(*index, failed);
      }
      CHECK(seen.size() == 60);
    }
  }

  TEST_CASE("exhaustive goes through the whole space in order") {
    const auto space = square_space(7);
    const auto named = run_to_end(*make_strategy("exhaustive", {.configurations = &space}), 2);
    REQUIRE(named.size() == space.size());
    CHECK(std::is_sorted(named.begin(), named.end()));
  }

  TEST_CASE("guided strategies find the best of many where each parameter counts") {
    const auto space = hypercube();
    for (const std::uint64_t seed : {1, 2, 3}) {
      CAPTURE(seed);
      CHECK(best_after(250, "local", space, seed, 1, wrong_values) == 10);
      CHECK(best_after(250, "evolutionary", space, seed, 1, wrong_values) == 10);
      CHECK(best_after(120, "model", space, seed, 1, wrong_values) == 10);
      CHECK(best_after(250, "model", space, seed, 64, wrong_values) == 10);
      CHECK(best_after(250, "random", space, seed, 1, wrong_values) > 10);
    }
  }

  TEST_CASE("model finds the best where near values have no near results") {
    const auto space = hypercube();
    for (const std::uint64_t seed : {1, 2, 3}) {
      CAPTURE(seed);
      CHECK(best_after(70, "model", space, seed, 1, misplaced_values) == 10);
    }
  }

  TEST_CASE("model finds the best where parameters count together and many fail") {
    const auto space = hypercube();
    for (const std::uint64_t seed : {1, 2, 3}) {
      CAPTURE(seed);
      const double optimum = 4.0 / 48;
      CHECK(best_after(150, "model", space, seed, 1, balance) == doctest::Approx(optimum));
      CHECK(best_after(150, "random", space, seed, 1, balance) > 1.01 * optimum);
    }
  }

  TEST_CASE("model rarely tries what probably fails, though the fastest is next to it") {
    const auto space = hypercube();
    int failures = 0;
    for (const std::uint64_t seed : {1, 2, 3}) {
      const auto strategy = make_strategy("model", {.configurations = &space, .seed = seed});
      for (int count = 1; count <= 200; ++count) {
        const std::size_t index = strategy->next().value();
        const Trial trial = trial_taking(balance(space[index]));
        strategy->report(index, trial);
        failures += count > 50 && !trial.ok();
      }
    }
    CHECK(failures < 3 * 15);
  }

  TEST_CASE("model begins with what is fast by its estimate, and learns how far to trust it") {
    const auto space = hypercube();
    const auto good = [&](std::size_t index) { return 3 * wrong_values(space[index]); };
    const auto misleading = [&](std::size_t index) { return 1 / wrong_values(space[index]); };
    double first = 0;
    double first_without = 0;
    for (const std::uint64_t seed : {1, 2, 3}) {
      CAPTURE(seed);
      first += best_after(6, "model", space, seed, 6, wrong_values, good);
      first_without += best_after(6, "model", space, seed, 6, wrong_values);
      CHECK(best_after(40, "model", space, seed, 1, wrong_values, good) == 10);
      CHECK(best_after(150, "model", space, seed, 1, wrong_values, misleading) == 10);
    }
    CHECK(first < first_without);
  }

  TEST_CASE("model comes to what works where its estimate puts all that fails first") {
    const auto space = hypercube();
    const auto misleading = [&](std::size_t index) { return balance(space[index]) == 0 ? 1 : 10; };
    for (const std::uint64_t seed : {1, 2, 3}) {
      CAPTURE(seed);
      CHECK(best_after(30, "model", space, seed, 30, balance, misleading) < 1);
    }
  }

  TEST_CASE("model tries the leaders' neighbours where it predicts badly, else also children") {
    const auto space = hypercube();
    int where_predictable = 0;
    for (const std::uint64_t seed : {1, 2, 3}) {
      CHECK(proposals_off_the_leaders(space, seed, unpredictable) == 0);
      where_predictable += proposals_off_the_leaders(space, seed, misplaced_values);
    }
    CHECK(where_predictable > 0);
  }

  TEST_CASE("model proposes different things while nothing is reported") {
    const auto space = hypercube();
    const auto strategy = make_strategy("model", {.configurations = &space, .seed = 2});
    for (int i = 0; i < 30; ++i) {
      const std::size_t index = strategy->next().value();
      strategy->report(index, trial_taking(wrong_values(space[index])));
    }
    std::map<std::string, std::set<std::int64_t>> values;
    for (int i = 0; i < 64; ++i) {
      for (const auto& [name, value] : space[strategy->next().value()].entries()) {
        values[name].insert(value);
      }
    }
    for (const auto& [name, some] : values) CHECK(some.size() >= 3);
  }

  TEST_CASE("random goes through the whole space in an order of the seed") {
    const auto space = square_space(7);
    const auto order = [&](std::uint64_t seed) {
      return run_to_end(*make_strategy("random", {.configurations = &space, .seed = seed}), 2);
    };
    CHECK(order(1).size() == space.size());
    CHECK_FALSE(std::is_sorted(order(1).begin(), order(1).end()));
    CHECK(order(1) != order(2));
  }
}

}  // namespace
}  // namespace autotune
