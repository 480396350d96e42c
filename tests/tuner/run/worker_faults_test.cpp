// Workers and devices that die, hang or fail, and what a search keeps of its trials.
#include <chrono>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "tests/tuner/tune_fixture.hpp"
#include "tuner/run/tuner.hpp"

namespace autotune::test {
namespace {

using Fixture = TuneFixture;

}  // namespace

TEST_SUITE("tune: faults") {
  TEST_CASE("failures are stored with their reason and never win") {
    Fixture f;
    f.answer(7, 2, WorkerReply(failed(TrialStatus::wrong_result)));
    f.answer(6, 2, WorkerFailure{WorkerFailure::Kind::timed_out, "took too long"});
    f.answer(8, 2, WorkerFailure{WorkerFailure::Kind::died, "killed by signal 11"});
    f.script->compile = [](const CompileRequest& c) -> WorkerOutcome {
      std::string macros;
      for (const std::string& option : c.options) macros += option + " ";
      if (macro(macros, "X") == 7 && macro(macros, "A") == 1) {
        return WorkerReply(CompileReply{.log = "k.cu(3): error: no\nmore"});
      }
      if (macro(macros, "X") == 9) return WorkerFailure{WorkerFailure::Kind::died, "died"};
      WorkerOutcome outcome = ScriptedWorker::compiled(c);
      if (macro(macros, "X") == 10) {
        std::get<CompileReply>(std::get<WorkerReply>(outcome)).resources.spill_bytes = 8;
      }
      return outcome;
    };
    const TuneReport report = f.run();
    CHECK(report.statuses.at(TrialStatus::wrong_result) == 1);
    CHECK(report.statuses.at(TrialStatus::run_timeout) == 1);
    CHECK(report.statuses.at(TrialStatus::run_crashed) == 1);
    CHECK(report.statuses.at(TrialStatus::compile_failed) == 1);
    CHECK(report.statuses.at(TrialStatus::compile_crashed) == 2);
    CHECK(report.statuses.at(TrialStatus::rejected_spills) == 2);
    CHECK(report.workers_replaced == 4);
    const Configuration& best = report.problems[0].winner->configuration;
    CHECK(to_string(best) == "X=5,A=2");
    for (const Trial& trial : f.seen) {
      CHECK(trial.detail.empty() == trial.ok());
      if (trial.status == TrialStatus::compile_failed) CHECK(trial.detail == "k.cu(3): error: no");
    }
    CHECK(f.run().measured == 0);
  }

  TEST_CASE("a finalist that turns wrong in the finals loses") {
    Fixture f;
    int tries = 0;
    f.script->measure = [&tries](const MeasureRequest& m) {
      const bool best = macro(m.cubin, "X") == 7 && macro(m.cubin, "A") == 2;
      if (best && tries++ > 0) {
        return WorkerOutcome(WorkerReply(failed(TrialStatus::wrong_result)));
      }
      const bool second = macro(m.cubin, "X") == 6 && macro(m.cubin, "A") == 2;
      return WorkerOutcome(WorkerReply(measured(second ? 10.1 : time_us(m))));
    };
    const TuneReport report = f.run();
    CHECK(to_string(report.problems[0].winner->configuration) == "X=6,A=2");
  }

  TEST_CASE("when nothing is correct there is no winner") {
    Fixture f;
    f.script->measure = [](const MeasureRequest&) {
      return WorkerOutcome(WorkerReply(failed(TrialStatus::wrong_result)));
    };
    const TuneReport report = f.run();
    CHECK_FALSE(report.problems[0].winner.has_value());
    CHECK(report.measured == kValid);
  }

  TEST_CASE("workers that only die end the run with the reason") {
    Fixture f;
    f.script->measure = [](const MeasureRequest&) {
      return WorkerOutcome(WorkerFailure{WorkerFailure::Kind::died, "the GPU fell off the bus"});
    };
    CHECK_THROWS_WITH_AS(f.run(), doctest::Contains("fell off the bus"), EnvironmentError);
  }

  TEST_CASE("a compiler that something else stops is run again and no kernel's fault") {
    Fixture f;
    int stops = 2;
    f.script->compile = [&](const CompileRequest& request) {
      if (stops-- > 0) return WorkerOutcome(WorkerReply(CompileReply{.problem = "out of disk"}));
      return ScriptedWorker::compiled(request);
    };
    f.setup.compile_jobs = 1;
    CHECK(f.run().statuses == std::map<TrialStatus, std::int64_t>{{TrialStatus::ok, kValid}});

    f.request.fresh = true;
    f.script->compile = [&](const CompileRequest& request) {
      if (f.script->compiles > 60) throw Error("no process can be started");
      return ScriptedWorker::compiled(request);
    };
    const TuneReport report = f.run();
    CHECK(report.failure == "kernels cannot be compiled: no process can be started");
    CHECK_FALSE(report.interrupted);
    CHECK_FALSE(report.complete);
    CHECK(report.measured > 0);
    CHECK(report.problems[0].winner.has_value());
    for (const Trial& trial : f.seen) CHECK(trial.ok());

    Fixture none;
    none.script->compile = [](const CompileRequest&) -> WorkerOutcome {
      throw Error("no process can be started");
    };
    CHECK_THROWS_WITH_AS(none.run(), "kernels cannot be compiled: no process can be started",
                         EnvironmentError);
  }

  TEST_CASE("a worker that is killed before the first trial is replaced") {
    Fixture f;
    f.script->deaths_at_start = 2;
    CHECK(f.run().measured == kValid);
    f.script->deaths_at_start = 3;
    CHECK_THROWS_AS(f.run(), EnvironmentError);
  }

  TEST_CASE("a compiler that does not answer ends the run within its budget") {
    Fixture f;
    f.script->compiler_hangs = true;
    constexpr const char* kWhy =
        "the compiler does not answer (no answer within 10 ms, killed): install it anew, or name "
        "another in AUTOTUNE_NVRTC, for the CPU device in CXX";
    CHECK_THROWS_WITH_AS(f.run(), kWhy, EnvironmentError);
    CHECK(f.script->describe_timeout_ms > 20'000);
    CHECK(f.script->describe_timeout_ms <= 30'000);
    f.request.budget.seconds = 15;
    CHECK_THROWS_WITH_AS(f.run(), kWhy, EnvironmentError);
    CHECK(f.script->describe_timeout_ms > 10'000);
    CHECK(f.script->describe_timeout_ms <= 15'000);
    f.request.budget.seconds = 0.1;  // a busy machine needs longer to start any compiler
    CHECK_THROWS_WITH_AS(f.run(), kWhy, EnvironmentError);
    CHECK(f.script->describe_timeout_ms > 5000);
    CHECK(f.script->describe_timeout_ms <= 10'000);
  }

  TEST_CASE("a device that is stuck ends the run, and what was measured is kept") {
    Fixture f;
    f.script->measure = [&f](const MeasureRequest& m) {
      if (f.script->measures == 5) {
        return WorkerOutcome(
            WorkerFailure{WorkerFailure::Kind::timed_out, "could not be killed", true});
      }
      return WorkerOutcome(WorkerReply(measured(time_us(m))));
    };
    const TuneReport report = f.run();
    CHECK(report.failure.find("could not be killed") != std::string::npos);
    CHECK(report.measured == 5);
    CHECK(report.problems[0].winner.has_value());
    CHECK(f.script->measures == 5);
    CHECK(f.database.stats().trials == 5);
  }
}

}  // namespace autotune::test
