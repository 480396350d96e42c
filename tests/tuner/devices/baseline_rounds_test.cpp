#include "tuner/devices/baseline_rounds.hpp"

#include <vector>

#include <doctest/doctest.h>

namespace autotune::test {
namespace {

constexpr double kFails = 0;
constexpr double kIsWrong = -3;
constexpr double kTimeIsOver = -1;

// Algorithms that take so long, which may change between rounds, and how often each was sampled.
struct Timed {
  std::vector<double> us;
  std::vector<int> samples = std::vector<int>(us.size() + 1);
  BaselineRounds rounds = BaselineRounds([this](int algorithm) -> std::optional<Trial> {
    const auto i = static_cast<std::size_t>(algorithm);
    ++samples.at(i);
    Trial trial;
    if (i == us.size()) {
      trial.status = TrialStatus::load_failed;
    } else if (us[i] == kTimeIsOver) {
      return std::nullopt;
    } else if (us[i] == kFails || us[i] == kIsWrong) {
      trial.status = us[i] == kFails ? TrialStatus::launch_failed : TrialStatus::wrong_result;
    } else {
      trial.measurement.median_us = us[i];
    }
    return trial;
  });

  explicit Timed(std::vector<double> times) : us(std::move(times)) {}
  void play(int count) {
    for (int i = 0; i < count; ++i) CHECK(rounds.play());
  }
};

}  // namespace

TEST_SUITE("BaselineRounds") {
  TEST_CASE("after three rounds those far behind drop out, but for the library's own choice") {
    Timed timed({13, 10.3, 10, 10.1});
    timed.play(5);
    CHECK(timed.samples == std::vector<int>{5, 3, 5, 5, 1});
    REQUIRE(timed.rounds.best());
    CHECK(timed.rounds.best()->number == 2);
    CHECK(timed.rounds.best()->samples_us == std::vector<double>(5, 10));
    CHECK(timed.rounds.failure() == nullptr);
  }

  TEST_CASE("a library without other algorithms has its own choice") {
    Timed timed({13});
    CHECK(timed.rounds.best() == nullptr);
    timed.play(4);
    CHECK(timed.samples == std::vector<int>{4, 1});
    CHECK(timed.rounds.best()->number == 0);
  }

  TEST_CASE("an algorithm that fails drops out, at once or later") {
    Timed timed({13, kFails, 10});
    timed.play(4);
    CHECK(timed.samples == std::vector<int>{4, 1, 4, 1});
    CHECK(timed.rounds.best()->number == 2);
    timed.us[2] = kFails;
    timed.play(2);
    CHECK(timed.samples == std::vector<int>{6, 1, 5, 1});
    CHECK(timed.rounds.best()->number == 0);
  }

  TEST_CASE("the failure of the library's own choice ends the rounds") {
    for (const int rounds : {0, 2}) {
      Timed timed({13, 10});
      timed.play(rounds);
      timed.us[0] = kFails;
      timed.play(2);
      CHECK(timed.samples == std::vector<int>{rounds + 1, rounds, rounds > 0});
      CHECK(timed.rounds.best() == nullptr);
      REQUIRE(timed.rounds.failure());
      CHECK(timed.rounds.failure()->status == TrialStatus::launch_failed);
    }
  }

  TEST_CASE("algorithms with wrong results are left out by their numbers, the own choice too") {
    Timed timed({kIsWrong, 11, kIsWrong, 10});
    timed.play(7);
    REQUIRE(timed.rounds.best());
    CHECK(timed.rounds.best()->number == 3);
    CHECK(timed.rounds.failure() == nullptr);
    CHECK(timed.rounds.problem("cublas") == "cublas: wrong results, so left out: algorithm 0, 2");
    const auto time = timed.rounds.time("cublas", std::vector<double>(9, 8));
    REQUIRE(time);
    CHECK(time->algorithm == 3);
    CHECK(time->median_us == 10);
    CHECK(time->speedup == 1.25);

    Timed nothing({kIsWrong, kIsWrong});
    nothing.play(1);
    CHECK(nothing.rounds.best() == nullptr);
    REQUIRE(nothing.rounds.failure());
    CHECK(nothing.rounds.failure()->status == TrialStatus::wrong_result);
    CHECK_FALSE(nothing.rounds.time("cublas", {}));
  }

  TEST_CASE("a round that is cut short counts for nothing") {
    Timed timed({13, 10});
    timed.play(1);
    timed.us = {5, kTimeIsOver};
    CHECK_FALSE(timed.rounds.play());
    CHECK(timed.rounds.best()->number == 1);
    CHECK(timed.rounds.best()->samples_us == std::vector<double>{10});
    timed.us = {5, 20};
    timed.play(4);
    CHECK(timed.rounds.best()->number == 0);
    CHECK(timed.rounds.best()->samples_us == std::vector<double>{13, 5, 5, 5, 5});
  }
}

}  // namespace autotune::test
