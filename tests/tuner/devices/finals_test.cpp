// Finals: which finalists drop out, tie and win.
#include "tuner/devices/finals.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "tests/tuner/tune_fixture.hpp"

namespace autotune::test {
namespace {

struct Played {
  KernelTemplate kernel = fake_template();
  std::vector<Finalist> finalists;

  void add(std::vector<double> samples_us, int registers) {
    Finalist finalist{.kernel = &kernel, .problem = kSmall, .samples_us = std::move(samples_us)};
    finalist.configuration =
        Configuration({{"X", static_cast<std::int64_t>(finalists.size()) + 1}, {"A", 1}});
    finalist.last.resources.registers = registers;
    finalists.push_back(std::move(finalist));
  }
};

// Steady samples: an interval of no width.
std::vector<double> steady(double us) {
  return std::vector<double>(11, us);
}

using Clock = std::chrono::steady_clock;

// Finals of scripted finalists.
struct Match {
  TuneFixture f;
  std::vector<BuiltKernel> built;
  std::stop_source stop;

  FinalsResult play(std::int64_t count, const FinalsTime& time, const std::string& baseline = "") {
    Played played;
    built.resize(static_cast<std::size_t>(count));
    for (std::int64_t x = 1; x <= count; ++x) {
      BuiltKernel& kernel = built[static_cast<std::size_t>(x - 1)];
      kernel.image = "-DX=" + std::to_string(x) + " -DA=1";
      played.add({}, 32);
      played.finalists.back().kernel = &f.kernel;
      played.finalists.back().built = &kernel;
    }
    TrialRunner runner(f.setup.make_compile_worker, std::chrono::seconds(30));
    return run_finals(kSmall, played.finalists, baseline, runner, time, stop.get_token());
  }
};

int rounds_played(const FinalsTime& time, bool stopped = false) {
  Match match;
  int samples = 0;
  match.f.script->measure = [&](const MeasureRequest&) {
    ++samples;
    return WorkerOutcome(WorkerReply(measured(10)));
  };
  if (stopped) match.stop.request_stop();
  const bool is_ranked = match.play(1, time).ranking.has_value();
  CHECK(is_ranked == (samples >= 3));
  return samples;
}

}  // namespace

TEST_SUITE("finals") {
  TEST_CASE("what lies within the repeatability of medians ties, and the cheapest of it wins") {
    Played played;
    played.add(steady(100), 128);
    played.add(steady(100.4), 64);
    played.add(steady(100.6), 32);
    const auto ranking = rank_finalists(played.finalists);
    REQUIRE(ranking);
    CHECK(ranking->winner == 1);
    CHECK(ranking->ties == std::vector<std::size_t>{0});
  }

  TEST_CASE("intervals that overlap tie within 2 %") {
    Played played;
    played.add({98, 99, 100, 101.2, 102}, 64);
    played.add({101, 101.4, 101.5, 101.6, 101.7}, 128);
    played.add({101, 103, 103, 103, 103}, 32);
    const auto ranking = rank_finalists(played.finalists);
    REQUIRE(ranking);
    CHECK(ranking->winner == 0);
    CHECK(ranking->ties == std::vector<std::size_t>{1});
  }

  TEST_CASE("of those that tie the one that won before stays the winner") {
    Played played;
    played.add(steady(100), 32);
    played.add(steady(100.4), 128);
    played.finalists[1].won_before = true;
    CHECK(rank_finalists(played.finalists)->winner == 1);
    CHECK(rank_finalists(played.finalists)->interval.low == 100.4);
    played.finalists[1].samples_us = steady(101);
    CHECK(rank_finalists(played.finalists)->winner == 0);
    CHECK(rank_finalists(played.finalists)->ties.empty());
  }

  TEST_CASE("a finalist that failed neither wins nor ties") {
    Played played;
    played.add(steady(100), 32);
    played.add(steady(101), 32);
    played.finalists[0].last.status = TrialStatus::wrong_result;
    CHECK(rank_finalists(played.finalists)->winner == 1);
    played.finalists[1].last.status = TrialStatus::launch_failed;
    CHECK_FALSE(rank_finalists(played.finalists).has_value());
  }

  TEST_CASE("finalists are compared by the rounds that both have played") {
    // The device grows slower after the fifth round: what dropped out before looks faster.
    Played played;
    played.add({100, 100, 100, 100, 100, 105, 105, 105, 105, 105, 105}, 64);
    played.add({102.1, 102.1, 102.1}, 32);
    played.add({100.1, 100.1, 100.1}, 16);
    const auto ranking = rank_finalists(played.finalists);
    REQUIRE(ranking);
    CHECK(ranking->winner == 0);
    CHECK(ranking->ties == std::vector<std::size_t>{2});
    CHECK(median(played.finalists[0].samples_us) == 105);
  }

  TEST_CASE("a leader that fails late leaves the win to who is left") {
    Played played;
    played.add(steady(100), 64);
    played.add({101, 101, 101}, 32);
    played.add({103, 103, 103}, 32);
    played.finalists[0].last.status = TrialStatus::launch_failed;
    const auto ranking = rank_finalists(played.finalists);
    REQUIRE(ranking);
    CHECK(ranking->winner == 1);
    CHECK(ranking->ties.empty());
  }

  TEST_CASE("fewer play where there is little time") {
    CHECK(most_finalists(10, std::nullopt) == 32);
    CHECK(most_finalists(10, 10.0) == 32);
    CHECK(most_finalists(10, 0.2) == 9);
    CHECK(most_finalists(10, -1.0) == 4);
    CHECK(most_finalists(10'000, std::nullopt) == 9);
    CHECK(most_finalists(1e9, 10.0) == 4);
  }

  TEST_CASE("three rounds are played after a deadline, all without one, none after the end") {
    const auto past = Clock::now() - std::chrono::hours(1);
    const auto future = Clock::now() + std::chrono::hours(1);
    CHECK(rounds_played({.deadline = past}) == 3);
    CHECK(rounds_played({.deadline = past, .end = future}) == 3);
    CHECK(rounds_played({.deadline = future, .end = future}) == 11);
    CHECK(rounds_played({}) == 11);
    CHECK(rounds_played({.deadline = past, .end = past}) == 0);
    CHECK(rounds_played({}, /*stopped=*/true) == 0);
  }

  TEST_CASE("a round that is cut short counts for nothing, and its finalist has not failed") {
    for (const int whole : {2, 3, 5}) {
      CAPTURE(whole);
      FinalsTime time{.end = Clock::now() + std::chrono::hours(1)};
      Match match;
      int samples = 0;
      match.f.script->measure = [&](const MeasureRequest& request) {
        if (++samples <= 2 * whole + 1) {
          return WorkerOutcome(WorkerReply(measured(macro(request.cubin, "X") == 1 ? 10 : 10.01)));
        }
        time.end = Clock::now();
        return WorkerOutcome(WorkerFailure{WorkerFailure::Kind::timed_out, "no answer"});
      };
      const FinalsResult result = match.play(2, time);
      CHECK(samples == 2 * whole + 2);
      REQUIRE(result.ranking.has_value() == (whole >= 3));
      for (const Finalist& finalist : result.finalists) {
        CHECK(finalist.samples_us.size() == static_cast<std::size_t>(whole));
        CHECK(finalist.last.ok());
      }
      if (result.ranking) CHECK(result.ranking->ties.size() == 1);
    }
  }

  TEST_CASE("the best of a baseline's algorithms is timed in the same rounds") {
    Match match;
    int rounds = 0;
    match.f.script->measure = [&](const MeasureRequest& request) {
      if (request.baseline.empty()) {
        ++rounds;
        return WorkerOutcome(WorkerReply(measured(10)));
      }
      CHECK(request.verify == (rounds == 1));
      if (request.algorithm == 3) {
        return WorkerOutcome(WorkerReply(failed(TrialStatus::load_failed)));
      }
      const double us[] = {9, 8, 7};
      return WorkerOutcome(WorkerReply(measured(us[request.algorithm] + rounds)));
    };
    const FinalsResult result = match.play(1, {}, "cublas");
    CHECK(rounds == 11);
    REQUIRE(result.baseline);
    CHECK(result.baseline->median_us == 7 + 6);
    CHECK(result.baseline->algorithm == 2);
    CHECK(result.baseline->speedup == 1.3);
    CHECK(result.baseline->speedup_low < 1.3);
    CHECK(result.baseline_problem == "");
    CHECK(result.ranking.has_value());
  }

  TEST_CASE("a baseline that takes all the time that is left costs no finalist a round") {
    FinalsTime time{.end = Clock::now() + std::chrono::hours(1)};
    Match match;
    int rounds = 0;
    match.f.script->measure = [&](const MeasureRequest& request) {
      rounds += request.baseline.empty() ? 1 : 0;
      if (request.algorithm == 1) {
        if (rounds < 3) return WorkerOutcome(WorkerReply(measured(7)));
        time.end = Clock::now();
        return WorkerOutcome(WorkerFailure{WorkerFailure::Kind::timed_out, "no answer"});
      }
      if (request.algorithm == 2) {
        return WorkerOutcome(WorkerReply(failed(TrialStatus::load_failed)));
      }
      return WorkerOutcome(WorkerReply(measured(9)));
    };
    const FinalsResult result = match.play(1, time, "cublas");
    CHECK(result.ranking.has_value());
    CHECK(result.finalists.front().samples_us.size() == 3);
    REQUIRE(result.baseline);
    CHECK(result.baseline->median_us == 7);
    CHECK(result.baseline_problem == "");
  }

  TEST_CASE("no sample may take longer than the time that is left") {
    Match match;
    match.f.script->measure = [&](const MeasureRequest&) {
      CHECK(match.f.script->measure_timeout_ms <= 5000);
      return WorkerOutcome(WorkerReply(measured(10)));
    };
    CHECK(match.play(1, {.end = Clock::now() + std::chrono::seconds(5)}).ranking);
  }
}

}  // namespace autotune::test
