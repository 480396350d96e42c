// Tuning runs in which problems of other arithmetic may answer one.
#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include <doctest/doctest.h>

#include "tests/tuner/tune_fixture.hpp"

namespace autotune::test {
namespace {

Problem small_with(Math math) {
  GemmProblem problem = gemm_problem(kSmall);
  problem.math = math;
  return problem;
}

const Problem kEmulated = small_with(Math::emulated);
const Problem kTf32 = small_with(Math::tf32);

// A strict template, and one that is faster with less exact arithmetic.
struct ThreeMaths : TuneFixture {
  KernelTemplate fast = fake_template();
  std::mutex mutex;
  std::vector<Problem> finals;  // the problems of their samples, in order

  ThreeMaths() {
    fast.name = "fast";
    fast.supports = [](const Problem& problem) {
      return gemm_problem(problem).math != Math::strict;
    };
    request.templates = {&kernel, &fast};
    request.alternatives[kSmall] = {kSmall, kEmulated, kTf32};
    script->measure = [this](const MeasureRequest& m) {
      const Math math = gemm_problem(m.problem).math;
      const std::map<Math, double> speed = {
          {Math::strict, 1}, {Math::emulated, 1.02}, {Math::tf32, 3}};
      const std::map<Math, double> error = {
          {Math::strict, 5e-7}, {Math::emulated, 2e-7}, {Math::tf32, 3e-4}};
      CHECK((m.kernel_name == "fast") == (math != Math::strict));
      if (m.timing.samples == 1) {
        const std::lock_guard lock(mutex);
        finals.push_back(m.problem);
      }
      GemmProblem strict = gemm_problem(m.problem);
      strict.math = Math::strict;
      MeasureRequest same = m;
      same.problem = strict;
      MeasureReply reply = measured(time_us(same) / speed.at(math));
      reply.verification.error_bound = 100;
      reply.verification.frobenius_error = error.at(math);
      return WorkerOutcome(WorkerReply(reply));
    };
  }

  Winner winner_within(double max_error) {
    request.max_error = max_error;
    const TuneReport report = run();
    REQUIRE(report.problems.size() == 1);
    CHECK(report.problems.front().problem == kSmall);
    return report.problems.front().winner.value();
  }
};

TEST_SUITE("alternatives of a problem") {
  TEST_CASE("the fastest of all that keeps to the limit of the error wins") {
    ThreeMaths f;
    const Winner emulated = f.winner_within(1e-6);
    CHECK(emulated.problem == kEmulated);
    CHECK(emulated.template_name == "fast");
    CHECK(emulated.confirmed);
    CHECK(f.seen.size() == 3 * kValid);

    // Its kernel took turns with the strict ones.
    const auto first = std::ranges::find(f.finals, kSmall);
    REQUIRE(first != f.finals.end());
    CHECK(std::find(first, f.finals.end(), kEmulated) != f.finals.end());
    CHECK(std::ranges::find(f.finals, kTf32) == f.finals.end());

    // The same request measures nothing, another limit finals alone.
    f.seen.clear();
    CHECK(f.winner_within(1e-6).problem == kEmulated);
    CHECK(f.winner_within(1e-3).problem == kTf32);
    CHECK(f.seen.empty());
  }

  TEST_CASE("results are stored for the problem that was measured") {
    ThreeMaths f;
    static_cast<void>(f.winner_within(1e-6));
    const std::vector<Winner> winners = f.database.winners({});
    REQUIRE(winners.size() == 1);
    CHECK(winners.front().problem == kEmulated);

    // So a request for one of them knows them, but its own finals are to be held.
    f.request.alternatives.clear();
    f.request.problems = {kEmulated};
    f.request.templates = {&f.fast};
    f.finals.clear();
    const TuneReport report = f.run();
    CHECK(report.measured == 0);
    CHECK(report.known == kValid);
    CHECK_FALSE(f.finals.empty());
  }

  TEST_CASE("another problem with the same alternatives has finals of its own") {
    ThreeMaths f;
    const auto winner_of = [&](const Problem& asked, std::vector<Problem> alternatives) {
      f.request.problems = {asked};
      f.request.alternatives = {{asked, std::move(alternatives)}};
      f.request.max_error = 1e-3;
      return f.run().problems.front().winner.value();
    };
    CHECK(winner_of(kTf32, {kSmall, kEmulated, kTf32}).problem == kTf32);
    const Winner emulated = winner_of(kEmulated, {kSmall, kEmulated});
    CHECK(emulated.problem == kEmulated);
    CHECK(emulated.confirmed);
  }

  TEST_CASE("the least error of all is reported where nothing keeps to it") {
    ThreeMaths f;
    f.request.max_error = 1e-9;
    const TuneReport report = f.run();
    CHECK_FALSE(report.problems.front().winner);
    CHECK(report.problems.front().least_error == 2e-7);
  }

  TEST_CASE("two problems may have one alternative") {
    ThreeMaths f;
    f.request.problems = {kSmall, kTf32};
    f.request.alternatives.clear();
    f.request.alternatives[kTf32] = {kSmall, kEmulated, kTf32};
    f.request.templates = {&f.kernel};
    f.request.max_error = 1e-3;
    const TuneReport report = f.run();
    REQUIRE(report.problems.size() == 2);
    for (const ProblemResult& result : report.problems) {
      CHECK(result.winner.value().problem == kSmall);
      CHECK(result.winner->confirmed);
    }
  }

  TEST_CASE("what is too inaccurate has few turns") {
    ThreeMaths f;
    f.request.max_error = 1e-6;
    f.request.budget.trials = 60;
    f.request.strategy = "random";
    f.setup.compile_jobs = 1;
    static_cast<void>(f.run());
    const auto trials_of = [&](const Problem& problem) {
      return std::ranges::count(f.seen, problem, &Trial::problem);
    };
    CHECK(trials_of(kTf32) >= 12);
    CHECK(trials_of(kTf32) <= 15);
    CHECK(trials_of(kSmall) > 20);
    CHECK(trials_of(kEmulated) > 20);
  }

  TEST_CASE("the space counts a search for each") {
    const ThreeMaths f;
    const std::vector<SpaceSummary> spaces =
        summarize_space(f.request, f.setup.device, f.setup.kernels);
    REQUIRE(spaces.size() == 2);
    for (const SpaceSummary& space : spaces) CHECK(space.problems == 1);
    CHECK(spaces[0].trials() == kValid);
    CHECK(spaces[1].trials() == 2 * kValid);
  }
}

}  // namespace
}  // namespace autotune::test
