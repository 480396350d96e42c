// Tuning runs and their finals: the choice of finalists, the budget, and previous winners.
#include <map>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/run_program.hpp"
#include "tests/tuner/tune_fixture.hpp"

namespace autotune::test {

TEST_SUITE("finals of a run") {
  TEST_CASE("a budget counts from when the command began") {
    TuneFixture f;
    f.request.strategy = "random";  // which proposes quickly, with sanitizers as well
    f.request.budget.seconds = 60;
    f.request.began = std::chrono::steady_clock::now() - std::chrono::seconds(61);
    const TuneReport report = f.run();
    CHECK(report.measured == 0);
    CHECK_FALSE(report.problems.front().winner.has_value());
    // Nothing is known, so it is not over and done with.
    f.request.began.reset();
    CHECK(f.run().measured == kValid);
  }

  TEST_CASE("nothing may take longer than what is left of the budget") {
    TuneFixture f;
    f.request.strategy = "random";
    f.request.budget.seconds = 60;
    f.request.began = std::chrono::steady_clock::now() - std::chrono::seconds(50);
    f.script->measure = [&f, before = f.script->measure](const MeasureRequest& m) {
      const bool in_search = m.timing.samples != 1;
      CHECK(f.script->measure_timeout_ms <= (in_search ? 7000 : 10'000));
      return before(m);
    };
    const TuneReport report = f.run();
    CHECK(report.measured == kValid);
    CHECK(report.problems.front().winner->confirmed);
  }

  TEST_CASE("many problems leave more of the budget to their finals") {
    TuneFixture f;
    f.request.strategy = "random";
    f.request.problems.clear();
    for (std::int64_t n = 1; n <= 100; ++n) {
      f.request.problems.push_back(GemmProblem{.m = 8, .n = n, .k = 8});
    }
    f.request.budget.seconds = 60;
    f.request.began = std::chrono::steady_clock::now() - std::chrono::seconds(46);
    CHECK(f.run().measured == 0);  // the finals have the last quarter
    f.request.problems.resize(1);
    f.request.began = std::chrono::steady_clock::now() - std::chrono::seconds(46);
    CHECK(f.run().measured == kValid);
  }

  TEST_CASE("finals that the budget leaves no time for are left to the next run") {
    const TemporaryFolder folder;
    CubinStore cubins = CubinStore::open(folder.path() / "cubins.db");
    TuneFixture f;
    f.setup.cubins = &cubins;
    f.script->measure = [&f, before = f.script->measure](const MeasureRequest& m) {
      if (f.script->measures == kValid) f.stop.request_stop();
      return before(m);
    };
    CHECK(f.run().interrupted);
    f.stop = {};
    f.request.budget.seconds = 60;
    f.request.began = std::chrono::steady_clock::now() - std::chrono::seconds(61);
    const TuneReport late = f.run();
    CHECK(f.script->measures == kValid);
    CHECK(late.problems.front().winner->configuration == Configuration({{"X", 7}, {"A", 2}}));
    CHECK_FALSE(late.problems.front().winner->confirmed);
    f.request.began.reset();
    CHECK(f.run().problems.front().winner->confirmed);
    const int measures = f.script->measures;
    CHECK(measures > kValid);
    CHECK(f.run().problems.front().winner->confirmed);
    CHECK(f.script->measures == measures);
  }

  TEST_CASE("a search whose finals found no time is not made again: the next run has the finals") {
    TuneFixture f;
    f.script->measure = [&f, before = f.script->measure](const MeasureRequest& m) {
      if (f.script->measures == kValid / 2) f.stop.request_stop();
      return before(m);
    };
    CHECK(f.run().interrupted);
    f.stop = {};
    f.request.budget.seconds = 60;
    f.request.began = std::chrono::steady_clock::now() - std::chrono::seconds(61);
    CHECK_FALSE(f.run().problems.front().winner->confirmed);  // its search is over, too
    f.request.began.reset();
    const TuneReport next = f.run();
    CHECK(next.measured == 0);
    CHECK(next.problems.front().winner->confirmed);
    const int measures = f.script->measures;
    CHECK(f.run().problems.front().winner->confirmed);
    CHECK(f.script->measures == measures);
  }

  TEST_CASE("a budget that ends before every template had a trial is used up all the same") {
    TuneFixture f;
    KernelTemplate other = fake_template();
    other.name = "other";
    f.request.templates = {&f.kernel, &other};
    f.request.budget.trials = 1;
    CHECK(f.run().measured == 1);
    CHECK(f.run().measured == 0);
  }

  TEST_CASE("who cannot win any more is not timed to the end") {
    TuneFixture f;
    std::map<std::string, int> samples;
    f.script->measure = [&](const MeasureRequest& m) {
      const int x = macro(m.cubin, "X");
      const int a = macro(m.cubin, "A");
      const std::string name = fmt::format("{},{}", x, a);
      if (m.timing.samples == 1) ++samples[name];
      // Two that are level, one that is 1 % behind, all others far.
      if (name == "7,2") return WorkerOutcome(WorkerReply(measured(10)));
      if (name == "6,2") return WorkerOutcome(WorkerReply(measured(10.02)));
      if (name == "5,2") return WorkerOutcome(WorkerReply(measured(10.1)));
      return WorkerOutcome(WorkerReply(measured(20)));
    };
    const TuneReport report = f.run();
    CHECK(samples == std::map<std::string, int>{{"7,2", 11}, {"6,2", 11}, {"5,2", 3}});
    CHECK(report.problems.front().winner->ties.size() == 1);
  }

  TEST_CASE("the same search again has the same winner among those that are level") {
    TuneFixture f;
    // At first 7,2 and 6,2 are level; later so is 3,2, which is as cheap.
    bool later = false;
    f.script->measure = [&](const MeasureRequest& m) {
      const int x = macro(m.cubin, "X");
      const bool level = macro(m.cubin, "A") == 2 && (x == 6 || x == 7 || (later && x == 3));
      return WorkerOutcome(WorkerReply(measured(level ? 10 : 20)));
    };
    const TuneReport first = f.run();
    CHECK(to_string(first.problems.front().winner->configuration) == "X=6,A=2");
    later = true;
    f.request.fresh = true;
    const TuneReport again = f.run();
    CHECK(to_string(again.problems.front().winner->configuration) == "X=6,A=2");
    CHECK(again.problems.front().winner->ties.size() == 2);
  }

  TEST_CASE("finals that end early leave the best of the search, which the next run confirms") {
    const bool interrupts[] = {true, false};
    for (const bool interrupt : interrupts) {
      CAPTURE(interrupt);
      TuneFixture f;
      int samples = 0;
      f.script->measure = [&](const MeasureRequest& m) {
        const bool ends = m.timing.samples == 1 && ++samples >= 2;  // before the third round
        if (ends && interrupt) f.stop.request_stop();
        if (ends && !interrupt) {
          return WorkerOutcome(WorkerFailure{WorkerFailure::Kind::no_service, "the GPU is lost"});
        }
        return WorkerOutcome(WorkerReply(measured(time_us(m))));
      };
      const TuneReport report = f.run();
      CHECK(samples == (interrupt ? 2 : 4));  // a worker without its device is replaced twice
      CHECK(report.interrupted == interrupt);
      CHECK(report.failure.empty() == interrupt);
      CHECK_FALSE(report.complete);
      CHECK(report.measured == kValid);
      CHECK(f.database.stats().trials == kValid);
      REQUIRE(report.problems.front().winner.has_value());
      CHECK(to_string(report.problems.front().winner->configuration) == "X=7,A=2");
      CHECK_FALSE(report.problems.front().winner->confirmed);

      f.stop = std::stop_source();
      f.script->measure = [](const MeasureRequest& m) {
        return WorkerOutcome(WorkerReply(measured(time_us(m))));
      };
      const TuneReport next = f.run();
      CHECK(next.measured == 0);
      CHECK(next.complete);
      CHECK(next.problems.front().winner->confirmed);
    }
  }

  TEST_CASE("a slow problem has fewer finalists") {
    for (const bool slow : {false, true}) {
      TuneFixture f;
      std::map<std::string, int> samples;
      f.script->measure = [&](const MeasureRequest& m) {
        if (m.timing.samples == 1) ++samples[m.cubin];
        return WorkerOutcome(WorkerReply(measured(slow ? 100'000 : 10)));
      };
      f.run();
      CHECK(samples.size() == (slow ? 4 : kValid));
    }
  }
}

}  // namespace autotune::test
