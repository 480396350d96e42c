#include "tuner/search/convergence.hpp"

#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace autotune {
namespace {

Trial trial_of_us(double time_us) {
  Trial trial;
  trial.measurement.median_us = time_us;
  return trial;
}

// Between 10 and 20 us, in an order without rule; the best is the tenth.
std::vector<double> begun() {
  std::vector<double> times_us;
  for (int i = 0; i < 40; ++i) times_us.push_back(10 + i * 17 % 40 * 0.25);
  std::swap(times_us[0], times_us[9]);
  return times_us;
}

Convergence after(const std::vector<double>& times_us) {
  Convergence convergence("model");
  for (const double time_us : times_us) convergence.report(trial_of_us(time_us));
  return convergence;
}

TEST_SUITE("convergence") {
  TEST_CASE("the longer the best time stays, the nearer the best of the space is") {
    std::vector<double> times_us = begun();
    CHECK(after(times_us).reached_share() == 0);
    double before = 0;
    for (int i = 0; i < 300; ++i) {
      times_us.push_back(11 + i % 8);
      if (i % 20 != 0) continue;
      const double share = after(times_us).reached_share();
      CHECK(share >= before);
      CHECK(share < 1);
      before = share;
    }
    CHECK(after(times_us).reached_share() > 0.98);
  }

  TEST_CASE("where all are nearly as fast, less patience is needed") {
    std::vector<double> wide;
    std::vector<double> narrow;
    for (int i = 0; i < 60; ++i) {
      wide.push_back(10 + i % 10);
      narrow.push_back(10 + i % 10 * 0.02);
    }
    CHECK(after(wide).reached_share() == 0);
    CHECK(after(narrow).reached_share() > 0.98);
  }

  TEST_CASE("a gain leaves what was said true, unless it refutes it") {
    std::vector<double> times_us = begun();
    times_us.insert(times_us.end(), 250, 15);
    const double said = after(times_us).reached_share();
    times_us.push_back(9.99);
    CHECK(after(times_us).reached_share() == doctest::Approx(said * 10 / 9.99));
    times_us.push_back(5);
    CHECK(after(times_us).reached_share() == 0);
  }

  TEST_CASE("few trials and failures say nothing") {
    Convergence convergence("model");
    Trial failure;
    failure.status = TrialStatus::compile_failed;
    for (int i = 0; i < 19; ++i) convergence.report(trial_of_us(10));
    for (int i = 0; i < 300; ++i) convergence.report(failure);
    CHECK(convergence.reached_share() == 0);
    convergence.report(trial_of_us(10));
    CHECK(convergence.reached_share() == 1);
  }

  TEST_CASE("the less patience, the sooner something is said") {
    std::vector<double> times_us = begun();
    times_us.insert(times_us.end(), 90, 15);
    Convergence patient("model", 55);
    Convergence hasty("model", 30);
    for (const double time_us : times_us) {
      patient.report(trial_of_us(time_us));
      hasty.report(trial_of_us(time_us));
    }
    CHECK(patient.reached_share() == 0);
    CHECK(hasty.reached_share() > 0.98);
  }

  TEST_CASE("nothing is said where the leaders are unlike the best and most are clearly slower") {
    // Twelve leaders, of which every second differs from the best in `different` parameters.
    const auto share = [](std::int64_t different, double step_us, double patience) {
      Convergence convergence("model", patience);
      for (int i = 0; i < 12; ++i) {
        Trial trial = trial_of_us(10 + i * step_us);
        const std::int64_t far = i % 2;
        trial.configuration = Configuration({{"A", different > 0 ? far : 0},
                                             {"B", different > 1 ? far : 0},
                                             {"C", different > 2 ? far : 0}});
        convergence.report(trial);
      }
      for (int i = 0; i < 300; ++i) convergence.report(trial_of_us(15));
      return convergence.reached_share();
    };
    CHECK(share(3, 0.1, 55) == 0);
    CHECK(share(2, 0.1, 55) > 0.98);
    CHECK(share(3, 0.01, 55) > 0.98);
    CHECK(share(3, 0.1, 20) > 0.98);  // with a shipped winner
  }

  TEST_CASE("nothing is known of other strategies, and without a patience") {
    const std::pair<const char*, double> unknown[] = {
        {"random", 55}, {"exhaustive", 55}, {"local", 55}, {"evolutionary", 55}, {"model", 0}};
    for (const auto& [strategy, patience] : unknown) {
      Convergence convergence(strategy, patience);
      for (int i = 0; i < 300; ++i) convergence.report(trial_of_us(10));
      CHECK(convergence.reached_share() == 0);
    }
  }
}

}  // namespace
}  // namespace autotune
