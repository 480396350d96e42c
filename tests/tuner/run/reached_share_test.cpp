// Searches of spaces that are too large to be tried whole: they end once a share of the best rate is
// reached, and say which. The thread sanitizer is not for them: their threads are those of the other
// searches, and it slows the strategy down a lot.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/tuner/tune_fixture.hpp"
#include "tuner/run/tuner.hpp"

namespace autotune::test {
namespace {

using Fixture = TuneFixture;

// All pairs of X and A from 1 to `side`.
ConfigSpace square_space(std::int64_t side) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = 1; value <= side; ++value) values.push_back(value);
  return ConfigSpace({{"X", "", values}, {"A", "", values}}, {});
}

}  // namespace

TEST_SUITE("tune: the share that is reached") {
  TEST_CASE("a search until a share is reached ends there, and leaves the space open") {
    Fixture fixture;
    fixture.kernel.space = square_space(40);
    fixture.request.until = 0.9;
    const TuneReport report = fixture.run();
    CHECK(report.problems[0].reached_share >= 0.9);
    CHECK(report.measured < 400);
    REQUIRE(report.problems[0].winner);
    CHECK(report.problems[0].winner->median_us <= 10 / 0.9);

    CHECK(fixture.run().measured == 0);
    fixture.request.until.reset();
    fixture.request.strategy = "exhaustive";
    const TuneReport whole = fixture.run();
    CHECK(whole.measured == 1600 - report.measured);
    CHECK(whole.problems[0].reached_share == 1);
  }

  TEST_CASE(
      "without a budget a large space is searched until 98 % are reached, and then complete") {
    Fixture fixture;
    fixture.kernel.space = square_space(80);
    const TuneReport report = fixture.run();
    const double said = report.problems[0].reached_share;
    CHECK(said >= 0.98);
    CHECK(report.wall_s < 30);
    CHECK(report.measured < 1000);

    const TuneReport again = fixture.run();
    CHECK(again.measured == 0);
    CHECK(again.problems[0].winner->confirmed);
    CHECK(again.problems[0].reached_share == said);
    fixture.request.budget.trials = report.measured + 20;
    CHECK(fixture.run().measured > 0);
  }

  TEST_CASE("trials of one template do not end the search of others") {
    Fixture fixture;
    fixture.kernel.space = square_space(80);
    CHECK(fixture.run().problems[0].reached_share >= 0.98);

    KernelTemplate second = fixture.kernel;
    second.name = "second";
    fixture.request.templates = {&fixture.kernel, &second};
    fixture.seen.clear();
    const TuneReport both = fixture.run();
    const auto of_second = std::ranges::count_if(
        fixture.seen, [](const Trial& trial) { return trial.template_name == "second"; });
    CHECK(of_second >= 12);
    CHECK(both.problems[0].reached_share >= 0.98);
    CHECK(fixture.run().measured == 0);
  }

  TEST_CASE("nothing is said before what is expected to be fast was tried, by whatever run") {
    Fixture fixture;
    fixture.kernel.space = square_space(40);
    fixture.request.until = 0.98;
    CHECK(fixture.run().problems[0].reached_share >= 0.98);
    CHECK(fixture.run().measured == 0);

    Configuration expected({{"X", 31}, {"A", 1}});
    while (std::ranges::count(fixture.seen, expected, &Trial::configuration) > 0) {
      expected.set("A", expected.at("A") + 1);
    }
    fixture.setup.expect = [&](const Problem&, bool) {
      return Expectation{.suggestions = {{&fixture.kernel, expected}}};
    };
    CHECK(fixture.run().problems[0].reached_share >= 0.98);
    CHECK(std::ranges::count(fixture.seen, expected, &Trial::configuration) == 1);
    CHECK(fixture.run().measured == 0);
  }

  TEST_CASE("nothing is said where the first of what is expected to be fast is not searched") {
    Fixture fixture;
    fixture.kernel.space = square_space(40);
    fixture.request.until = 0.9;
    fixture.request.budget.trials = 300;
    KernelTemplate other = fixture.kernel;
    const Configuration some({{"X", 1}, {"A", 1}});
    fixture.setup.expect = [&](const Problem&, bool) {
      return Expectation{.suggestions = {{&other, some}, {&fixture.kernel, some}}};
    };
    const TuneReport report = fixture.run();
    CHECK(report.measured == 300);
    CHECK(report.problems[0].reached_share == 0);
  }

  TEST_CASE("what was proposed before the share was reached is not measured") {
    Fixture fixture;
    fixture.kernel.space = square_space(40);
    fixture.request.until = 0.97;
    fixture.setup.compile_jobs = 1;
    const std::int64_t few = fixture.run().measured;
    Fixture eager;
    eager.kernel.space = fixture.kernel.space;
    eager.request.until = 0.97;
    eager.setup.compile_jobs = 64;  // 192 kernels are compiled ahead
    CHECK(eager.run().measured < few + 192);
  }
}

}  // namespace autotune::test
