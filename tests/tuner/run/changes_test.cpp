// Searches with noisy times, and after changes since their results were stored.
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>

#include "core/statistics.hpp"
#include "tests/tuner/small_search.hpp"
#include "tests/tuner/tune_fixture.hpp"

namespace autotune::test {
namespace {

// Gives each configuration as many samples as are asked for, each so many times too long. Its
// neighbours are 1 % slower.
void add_noise(SmallSearch& search, std::function<double()> factor) {
  search.script->measure = [factor = std::move(factor)](const MeasureRequest& request) {
    MeasureReply reply = measured(0);
    reply.measurement.samples_us.clear();
    for (int i = 0; i < request.timing.samples; ++i) {
      reply.measurement.samples_us.push_back((90 + one_parameter_us(request)) * factor());
    }
    reply.measurement.median_us = median(reply.measurement.samples_us);
    return WorkerOutcome(WorkerReply(reply));
  };
}

TEST_SUITE("tuning with noise") {
  TEST_CASE(
      "spikes, drift, two clocks and a device that is slow throughout leave the winner within 2 "
      "%") {
    int sample = 0;
    std::mt19937 random(1);
    const std::pair<const char*, std::function<double()>> noises[] = {
        {"spikes", [&] { return ++sample % 7 == 0 ? 50 : 1; }},
        {"drift", [&] { return 1 + 0.0005 * ++sample; }},
        {"two clocks", [&] { return random() % 4 == 0 ? 1.08 : 1; }},
        {"throttled", [] { return 4; }},
    };
    for (const auto& [name, factor] : noises) {
      CAPTURE(std::string(name));
      sample = 0;
      SmallSearch search;
      add_noise(search, factor);
      auto database = TuningDatabase::open(search.path);
      const TuneReport report = search.run(database);
      CHECK(report.measured == kConfigurations);
      REQUIRE(report.problems.front().winner);
      const Winner& winner = *report.problems.front().winner;
      CHECK(std::abs(winner.configuration.at("X") - 7) <= 2);  // each step is 1 %
      CHECK(std::isfinite(winner.median_us));
    }
  }
}

TEST_SUITE("tuning after a change") {
  TEST_CASE("another NVRTC has kernels compiled anew and the stored finalists timed again") {
    const SmallSearch search;
    auto database = TuningDatabase::open(search.path);
    check_report(search.run(database));
    const int compiled = search.script->compiles;
    search.script->nvrtc_build = "13.1.0 CL-2";
    const TuneReport report = search.run(database);
    CHECK(report.measured > 0);
    CHECK(report.measured < kConfigurations);
    CHECK(search.script->compiles == compiled + report.measured);
    CHECK(to_string(report.problems.front().winner->configuration) == "X=7");
    CHECK_FALSE(report.note.empty());
  }

  TEST_CASE("stored finalists are timed again within the budget, or by a later run") {
    TuneFixture f;
    f.run();
    f.script->nvrtc_build = "13.1.0 CL-2";
    f.request.budget.seconds = 60;
    f.request.began = std::chrono::steady_clock::now() - std::chrono::seconds(61);
    CHECK(f.run().measured == 0);
    f.request.began.reset();
    CHECK(f.run().measured > 0);
    CHECK(f.run().measured == 0);
  }

  TEST_CASE("another GPU knows nothing of the first one, which keeps its results") {
    SmallSearch search;
    auto database = TuningDatabase::open(search.path);
    check_report(search.run(database));
    search.device.sm_count = 100;
    CHECK(search.run(database).measured == kConfigurations);
    search.device.sm_count = 0;
    CHECK(search.run(database).measured == 0);
    CHECK(database.winners({}).size() == 2);
  }

  TEST_CASE("a stored winner that is no longer a valid configuration is replaced") {
    const SmallSearch search;
    auto database = TuningDatabase::open(search.path);
    check_report(search.run(database));
    std::vector<Winner> winners = database.winners({});
    REQUIRE(winners.size() == 1);
    winners.front().configuration = Configuration({{"X", 99}});
    winners.front().median_us = 0.001;
    database.put_winners(winners);
    const TuneReport report = search.run(database);
    check_report(report);
    CHECK(report.measured == 0);
  }
}

}  // namespace
}  // namespace autotune::test
