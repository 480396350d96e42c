// The tuning loop with scripted workers: its measurements, storing, skipping and decisions.
#include "tuner/run/tuner.hpp"

#include <chrono>
#include <condition_variable>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "tests/support/run_program.hpp"
#include "tests/tuner/tune_fixture.hpp"

namespace autotune::test {
namespace {

using Fixture = TuneFixture;

}  // namespace

TEST_SUITE("tune") {
  TEST_CASE("an exhaustive search finds the best of every problem and compiles each kernel once") {
    Fixture f;
    f.request.problems = {kSmall, kLarge};
    const TuneReport report = f.run();
    REQUIRE(report.problems.size() == 2);
    CHECK(to_string(report.problems[0].winner->configuration) == "X=7,A=2");
    CHECK(to_string(report.problems[1].winner->configuration) == "X=3,A=4");
    CHECK(report.problems[0].winner->confirmed);
    CHECK(report.measured == 2 * kValid);
    CHECK(f.script->compiles == kValid);
    CHECK(report.complete);
  }

  TEST_CASE("screening gets 1.08 times the best so far") {
    Fixture f;
    double best = 0;
    f.script->measure = [&best](const MeasureRequest& m) {
      if (m.timing.samples > 1) CHECK(m.timing.stop_above_us == doctest::Approx(1.08 * best));
      const double us = time_us(m);
      if (best == 0 || us < best) best = us;
      return WorkerOutcome(WorkerReply(measured(us)));
    };
    f.run();
  }

  TEST_CASE("asking again measures nothing") {
    Fixture f;
    f.run();
    const int before = f.script->measures;
    const TuneReport again = f.run();
    CHECK(again.measured == 0);
    CHECK(again.known == kValid);
    CHECK(f.script->measures == before);
    CHECK(to_string(again.problems[0].winner->configuration) == "X=7,A=2");
    CHECK(again.problems[0].winner->confirmed);
  }

  // As after a merge of a file that has lost them, or where they are damaged.
  TEST_CASE("a search whose trials cannot be read is searched again, for what is missing") {
    Fixture f;
    const TemporaryFolder folder;
    const auto run_without = [&](const std::string& lost, const std::string& guid) {
      const auto path = folder.path() / (guid + ".db");
      TuningDatabase full = TuningDatabase::open(path);
      f.setup.database = &full;
      f.run();
      SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec(lost);
      const TuneReport report = f.run();
      CHECK(report.measured + report.known == kValid);
      CHECK(f.run().measured == 0);
      return report.measured;
    };
    CHECK(run_without("DELETE FROM trial; DELETE FROM winner", "1") == kValid);
    CHECK(run_without("UPDATE trial SET row_hash = '0'; DELETE FROM winner", "2") == kValid);
    CHECK(run_without("UPDATE trial SET detail = 'x' WHERE id = 3", "3") == 1);
    f.request.budget.trials = 8;
    f.request.strategy = "random";
    const auto path = folder.path() / "budget.db";
    TuningDatabase database = TuningDatabase::open(path);
    f.setup.database = &database;
    CHECK(f.run().measured == 8);
    CHECK(f.run().measured == 0);
    SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec("DELETE FROM trial");
    CHECK(f.run().measured == 8);
  }

  TEST_CASE("fresh measures everything again") {
    Fixture f;
    f.run();
    f.request.fresh = true;
    CHECK(f.run().measured == kValid);
  }

  TEST_CASE("a trial budget is kept exactly and a larger one continues") {
    Fixture f;
    f.request.budget.trials = 5;
    CHECK(f.run().measured == 5);
    CHECK(f.run().measured == 0);
    f.request.budget.trials = 8;
    const TuneReport more = f.run();
    CHECK(more.known == 5);
    CHECK(more.measured == 8);
  }

  TEST_CASE("nothing is said of a space of which little was tried") {
    Fixture fixture;
    fixture.request.budget.trials = 7;
    CHECK(fixture.run().problems[0].reached_share < 0.01);
  }

  TEST_CASE("a stop keeps what was measured and the next run continues") {
    Fixture f;
    f.script->measure = [&f, before = f.script->measure](const MeasureRequest& m) {
      if (f.script->measures == 6) f.stop.request_stop();
      return before(m);
    };
    const TuneReport stopped = f.run();
    CHECK(stopped.interrupted);
    CHECK(stopped.measured == 6);
    CHECK(stopped.problems[0].winner.has_value());
    CHECK_FALSE(stopped.problems[0].winner->confirmed);
    f.stop = std::stop_source();
    const TuneReport rest = f.run();
    CHECK(rest.known == 6);
    CHECK(rest.measured == kValid - 6);
  }

  TEST_CASE("asked again, who won the finals is preferred to another template's screening") {
    Fixture f;
    KernelTemplate other = fake_template();
    other.name = "other";
    f.request.templates = {&f.kernel, &other};
    int tries = 0;
    f.script->measure = [&tries](const MeasureRequest& m) {
      const bool best = macro(m.cubin, "X") == 7 && macro(m.cubin, "A") == 2;
      // A little faster at first, slower in the finals.
      if (best && m.kernel_name == "other") {
        return WorkerOutcome(WorkerReply(measured(tries++ == 0 ? 9.6 : 10.4)));
      }
      return WorkerOutcome(WorkerReply(measured(time_us(m))));
    };
    for (int run = 0; run < 2; ++run) {
      const TuneReport report = f.run();
      CAPTURE(run);
      CHECK(report.problems[0].winner->template_name == "fake");
      CHECK(report.problems[0].winner->confirmed);
    }
  }

  TEST_CASE("a search that was stopped at its finals plays them later, whatever won before") {
    Fixture fixture;
    fixture.request.filter.only = {{"X", {1}}};
    fixture.run();
    fixture.request.filter = {};
    std::stop_source at_finals;
    const auto stop = [&](const TuneProgress& progress) {
      if (progress.phase == std::string("finals")) at_finals.request_stop();
    };
    const TuneReport stopped = tune(fixture.request, fixture.setup, stop, at_finals.get_token());
    CHECK(stopped.interrupted);
    CHECK(to_string(stopped.problems[0].winner->configuration) == "X=7,A=2");
    const TuneReport later = fixture.run();
    CHECK(to_string(later.problems[0].winner->configuration) == "X=7,A=2");
    CHECK(later.problems[0].winner->confirmed);
  }

  TEST_CASE("another driver has the stored finalists timed again and nothing else") {
    Fixture f;
    f.run();
    f.setup.device.driver_release = "590.7";
    const TuneReport again = f.run();
    CHECK(again.measured > 0);
    CHECK(again.measured <= 6);
    CHECK(to_string(again.problems[0].winner->configuration) == "X=7,A=2");
    CHECK_FALSE(again.note.empty());
    CHECK(f.run().measured == 0);
  }

  TEST_CASE("the note names every size whose stored finalists are timed again") {
    Fixture f;
    f.request.problems = {kSmall, kLarge};
    f.run();
    f.setup.device.driver_release = "590.7";
    const TuneReport again = f.run();
    const auto text = f.kernel.operation->text;
    CHECK(again.note.find(text(kSmall) + ", " + text(kLarge)) != std::string::npos);
  }

  TEST_CASE("a search on the CPU device ends after 30 s by default") {
    Fixture f;
    double remaining_s = 0;
    const auto run = [&] {
      static_cast<void>(
          tune(f.request, f.setup,
               [&](const TuneProgress& p) { remaining_s = p.remaining_s.value_or(0); }, {}));
    };
    f.setup.device.cpu_model = "Test CPU";
    f.request.strategy = "random";  // which proposes quickly, with sanitizers as well
    run();
    CHECK(remaining_s > 20);
    CHECK(remaining_s <= 30);
  }

  TEST_CASE("the best of cuBLAS is timed in the same finals when asked for, and never wins") {
    Fixture f;
    f.request.baseline = "cublas";
    f.script->measure = [](const MeasureRequest& m) {
      if (m.baseline.empty()) return WorkerOutcome(WorkerReply(measured(time_us(m))));
      if (m.algorithm > 2) return WorkerOutcome(WorkerReply(failed(TrialStatus::load_failed)));
      MeasureReply reply = measured(m.algorithm == 1 ? 7.5 : 9.5);
      reply.detail = "13.1.0";
      return WorkerOutcome(WorkerReply(reply));
    };
    for (const std::int64_t measured : {kValid, std::int64_t{0}}) {
      const TuneReport report = f.run();
      CHECK(report.measured == measured);
      REQUIRE(report.problems[0].baseline);
      CHECK(report.problems[0].baseline->median_us == 7.5);
      CHECK(report.problems[0].baseline->algorithm == 1);
      CHECK(report.problems[0].winner->median_us == 10);
    }
    for (const Winner& winner : f.database.winners({})) {
      CHECK(winner.template_name == "fake");
      CHECK(winner.median_us == 10);
      REQUIRE(winner.baseline);
      CHECK(winner.baseline->library == "cublas");
      CHECK(winner.baseline->version == "13.1.0");
      CHECK(winner.baseline->speedup == 0.75);
      CHECK(winner.baseline->speedup_high == 0.75);
      CHECK(winner.baseline->measured_at.size() == std::string("2026-11-21T05:40:44Z").size());
    }
    for (const Trial& trial : f.seen) CHECK(trial.template_name == "fake");

    f.request.baseline.clear();
    f.request.fresh = true;
    f.run();
    REQUIRE(f.database.winners({}).at(0).baseline);  // the same kernel has won again
    CHECK(f.database.winners({}).at(0).baseline->median_us == 7.5);
    f.setup.device.driver_release = "another";
    f.run();
    CHECK_FALSE(f.database.winners({}).at(0).baseline);
  }

  TEST_CASE("cuBLAS that cannot be timed is said, with the reason") {
    Fixture f;
    f.request.baseline = "cublas";
    f.script->measure = [](const MeasureRequest& m) {
      return WorkerOutcome(WorkerReply(m.baseline == "cublas" ? failed(TrialStatus::launch_failed)
                                                              : measured(time_us(m))));
    };
    const TuneReport report = f.run();
    CHECK_FALSE(report.problems[0].baseline);
    CHECK(report.problems[0].baseline_problem ==
          "cublas could not be launched, or faulted: as scripted");
    CHECK(report.problems[0].winner->confirmed);
  }
}

}  // namespace autotune::test
