// The part of the space that a request asks for.
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "tests/tuner/tune_fixture.hpp"
#include "tuner/run/tuner.hpp"

namespace autotune::test {
namespace {

using Fixture = TuneFixture;

}  // namespace

TEST_SUITE("tune: selection") {
  TEST_CASE("a filtered search does not displace a better winner") {
    Fixture f;
    f.run();
    f.request.filter.tile_widths = {1};
    const TuneReport filtered = f.run();
    CHECK(filtered.measured == 0);
    CHECK(filtered.problems[0].winner->configuration.at("X") == 1);
    f.request.fresh = true;
    CHECK(f.run().problems[0].winner->configuration.at("X") == 1);
    const auto stored = f.database.winners({.device_class = f.setup.device.device_class()});
    REQUIRE(stored.size() == 1);
    CHECK(stored[0].configuration.at("X") == 7);
  }

  TEST_CASE("only the values asked for are tried, and a request for others is another one") {
    Fixture f;
    f.request.filter.only = {{"A", {4, 3}}, {"X", {1, 2, 9}}};
    const TuneReport filtered = f.run();
    CHECK(filtered.measured == 4);  // 1 and 2 with 3 and 4
    f.request.filter.only = {{"A", {3, 4}}, {"X", {9, 2, 1}}};
    CHECK(f.run().measured == 0);
    f.request.filter.only = {{"A", {1}}};
    CHECK(f.run().measured == 10);
    f.request.filter.only = {{"Y", {1}}};
    CHECK_THROWS_AS(f.run(), UsageError);
  }

  TEST_CASE("filters by tile shape leave out a template without one, others do not") {
    Fixture f;
    f.kernel.tile_shape = {};
    f.request.filter.only = {{"A", {4}}};
    CHECK(f.run().measured == 5);
    f.request.filter.only = {};
    f.request.filter.tile_widths = {1};
    CHECK_THROWS_AS(f.run(), UsageError);
    f.request.filter = {};
    f.request.filter.unrolls = {SpaceFilter::kFullUnroll};
    CHECK_THROWS_AS(f.run(), UsageError);
  }

  TEST_CASE("shards are the whole space together, and none has what another has") {
    std::set<std::string> all;
    std::int64_t measured = 0;
    for (std::int64_t shard = 1; shard <= 4; ++shard) {
      Fixture f;
      f.request.filter.shard = shard;
      f.request.filter.shards = 4;
      measured += f.run().measured;
      for (const Trial& trial : f.seen) all.insert(to_string(trial.configuration));
      f.request.filter.shard = shard % 4 + 1;  // another request
      CHECK(f.run().measured > 0);
    }
    CHECK(measured == kValid);
    CHECK(all.size() == kValid);
  }

  TEST_CASE("what the launch alone tells apart is in one shard") {
    int compiles = 0;
    for (std::int64_t shard = 1; shard <= 4; ++shard) {
      Fixture f;
      f.kernel.launch_parameters = {{"A", 2}};
      f.request.filter.shard = shard;
      f.request.filter.shards = 4;
      f.run();
      compiles += f.script->compiles;
    }
    CHECK(compiles == 20);  // ten X, each with A = 1 and with more
  }

  TEST_CASE("an empty space is wrong usage") {
    Fixture f;
    f.request.filter.tile_widths = {11};
    CHECK_THROWS_AS(f.run(), UsageError);
  }

  TEST_CASE("a problem beyond the device's memory is refused before anything is compiled") {
    Fixture f;
    f.setup.device.memory_bytes = 64 << 20;
    const Problem huge = GemmProblem{.m = 100000, .n = 100000, .k = 1};
    f.request.problems = {huge};
    CHECK_THROWS_WITH_AS(f.run(), doctest::Contains("100000x100000x1 needs 186."),
                         EnvironmentError);
    CHECK(f.script->compiles == 0);

    f.request.problems = {huge, kSmall};
    const TuneReport report = f.run();
    REQUIRE(report.problems.size() == 2);
    CHECK_FALSE(report.problems[0].winner);
    CHECK(report.problems[0].too_large.find("Test GPU has 0.1") != std::string::npos);
    CHECK(report.problems[1].winner);
    CHECK(report.measured == kValid);
  }

  TEST_CASE("the space that is shown is the space that is searched") {
    Fixture f;
    f.request.problems = {kSmall, kLarge};
    KernelTemplate large_only = fake_template();
    large_only.name = "large_only";
    large_only.supports = [](const Problem& problem) { return problem == kLarge; };
    f.request.templates = {&f.kernel, &large_only};
    const std::vector<SpaceSummary> spaces =
        summarize_space(f.request, f.setup.device, f.setup.kernels);
    REQUIRE(spaces.size() == 2);
    CHECK(spaces[0].trials() == 2 * kValid);
    CHECK(spaces[1].trials() == kValid);
    CHECK_NOTHROW(check_not_empty(spaces));
    CHECK(f.run().measured == 3 * kValid);

    f.request.problems = {kSmall};
    f.request.templates = {&large_only};
    CHECK_THROWS_WITH_AS(
        check_not_empty(summarize_space(f.request, f.setup.device, f.setup.kernels)),
        "no configuration is left to try: large_only: it computes none of these problems",
        UsageError);
    CHECK_THROWS_AS(f.run(), UsageError);
    f.request.problems = {kLarge};
    f.request.filter.only = {{"Z", {1}}};
    CHECK_THROWS_WITH_AS(
        check_not_empty(summarize_space(f.request, f.setup.device, f.setup.kernels)),
        "no configuration is left to try: large_only: it has no Z", UsageError);
  }
}

}  // namespace autotune::test
