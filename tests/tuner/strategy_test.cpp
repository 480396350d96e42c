// The contract of tuner/strategy.hpp, for every strategy that is registered.
#include "tuner/strategy.hpp"

#include <algorithm>
#include <set>

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

  TEST_CASE("exhaustive goes through the whole space in order") {
    const auto space = square_space(7);
    const auto named = run_to_end(*make_strategy("exhaustive", {.configurations = &space}), 2);
    REQUIRE(named.size() == space.size());
    CHECK(std::is_sorted(named.begin(), named.end()));
  }

  TEST_CASE("local finds the best of many where each parameter counts") {
    // 15,625 configurations; the more parameters are right, the faster.
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
    const auto time = [](const Configuration& configuration) {
      double result = 10;
      for (const auto& [name, value] : configuration.entries()) result += value == 3 ? 0 : 1;
      return result;
    };
    const auto best_after = [&](const std::string& name, std::uint64_t seed) {
      const auto strategy = make_strategy(name, {.configurations = &space, .seed = seed});
      double best = 1e9;
      for (int i = 0; i < 250; ++i) {
        const std::size_t index = strategy->next().value();
        Trial trial;
        trial.measurement.median_us = time(space[index]);
        best = std::min(best, trial.measurement.median_us);
        strategy->report(index, trial);
      }
      return best;
    };
    for (const std::uint64_t seed : {1, 2, 3}) {
      CHECK(best_after("local", seed) == 10);
      CHECK(best_after("random", seed) > 10);
    }
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
