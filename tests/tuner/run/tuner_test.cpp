// The tuning loop with scripted workers: its measurements, storing, skipping and decisions.
#include "tuner/tuner.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "tests/tuner/tune_fixture.hpp"

namespace autotune::test {
namespace {

using Fixture = TuneFixture;

}  // namespace

TEST_SUITE("tune") {
  TEST_CASE("what does well for one size is tried for the others") {
    for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
      CAPTURE(seed);
      TuneFixture fixture;
      fixture.setup.compile_jobs = 1;
      fixture.request.problems = {kSmall, kLarge};
      fixture.request.strategy = "model";
      fixture.request.seed = seed;
      fixture.request.budget.trials = 40;  // of 62
      const TuneReport report = fixture.run();
      for (const ProblemResult& result : report.problems) {
        REQUIRE(result.winner);
        const Problem other = result.problem == kSmall ? kLarge : kSmall;
        CHECK(std::any_of(fixture.seen.begin(), fixture.seen.end(), [&](const Trial& trial) {
          return trial.problem == other && trial.configuration == result.winner->configuration;
        }));
      }
    }
  }

  TEST_CASE("an idle device tries for one size what was built for another") {
    TuneFixture f;
    f.setup.compile_jobs = 1;
    f.request.problems = {kSmall, kLarge};
    f.request.strategy = "model";
    std::mutex mutex;
    std::condition_variable measured_one;
    std::map<std::string, std::set<std::int64_t>> sizes;  // by kernel
    const auto each_for_both = [&] {
      return std::all_of(sizes.begin(), sizes.end(),
                         [](const auto& entry) { return entry.second.size() == 2; });
    };
    f.script->measure = [&](const MeasureRequest& m) {
      const std::lock_guard lock(mutex);
      sizes[m.cubin].insert(m.problem.size("m"));
      measured_one.notify_all();
      return WorkerOutcome(WorkerReply(measured(time_us(m))));
    };
    // The compiler halts until the device, with nothing else to do, has come round.
    bool came_round = false;
    f.script->compile = [&](const CompileRequest& c) {
      if (f.script->compiles == 20) {
        std::unique_lock lock(mutex);
        came_round = measured_one.wait_for(lock, std::chrono::seconds(20), each_for_both);
      }
      return ScriptedWorker::compiled(c);
    };
    f.run();
    CHECK(came_round);
  }

  TEST_CASE("what the launch alone tells apart is compiled once, and tried by an idle device") {
    TuneFixture f;
    f.setup.compile_jobs = 1;
    f.request.strategy = "model";
    f.kernel.launch_parameters = {{"A", 2}};
    f.kernel.geometry = [](const Configuration& c, const Problem&) {
      return LaunchGeometry{.grid = {c.at("A"), 1, 1}, .block = {32, 1, 1}};
    };
    std::mutex mutex;
    std::condition_variable measured_one;
    std::map<int, std::set<std::int64_t>> grids;  // of the code with this X and an A from 2 on
    const auto each_with_all = [&] {
      return std::all_of(grids.begin(), grids.end(), [](const auto& entry) {
        const auto& [x, seen] = entry;
        return seen.size() == static_cast<std::size_t>(std::min(4, 20 / x) - 1);
      });
    };
    f.script->measure = [&](const MeasureRequest& m) {
      const std::lock_guard lock(mutex);
      if (macro(m.cubin, "A") == 2) grids[macro(m.cubin, "X")].insert(m.geometry.grid[0]);
      measured_one.notify_all();
      return WorkerOutcome(WorkerReply(measured(time_us(m))));
    };
    bool came_round = false;
    f.script->compile = [&](const CompileRequest& c) {
      if (f.script->compiles == 12) {
        std::unique_lock lock(mutex);
        came_round = measured_one.wait_for(lock, std::chrono::seconds(20), each_with_all);
      }
      return ScriptedWorker::compiled(c);
    };
    const TuneReport report = f.run();
    CHECK(came_round);
    CHECK(f.script->compiles == 20);  // ten X, each with A = 1 and with more
    CHECK(report.measured == kValid);
  }

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

  TEST_CASE("the default configuration is tried first so that screening has an incumbent") {
    Fixture f;
    f.setup.compile_jobs = 1;  // kernels are measured in the order in which they are built
    f.run();
    CHECK(to_string(f.seen.front().configuration) == "X=2,A=2");
    std::set<std::string> distinct;
    for (const Trial& trial : f.seen) distinct.insert(to_string(trial.configuration));
    CHECK(distinct.size() == f.seen.size());
  }

  TEST_CASE("a search begins with what won elsewhere, for the nearest size first") {
    Fixture f;
    f.setup.compile_jobs = 1;
    const auto won = [&](std::int64_t size, const char* configuration, const char* device) {
      Winner winner;
      winner.device_class = device;
      winner.problem = GemmProblem{.m = size, .n = size, .k = size};
      winner.template_name = "fake";
      winner.space_version = 1;
      winner.configuration = Configuration::parse(configuration);
      return winner;
    };
    Winner of_other_template = won(64, "X=5,A=3", "here");
    of_other_template.template_name = "other";
    Winner of_older_interface = won(64, "X=6,A=3", "there");
    of_older_interface.space_version = 0;
    const Winner winners[] = {won(4096, "A=1,X=9", "here"),
                              won(65, "X=4,A=1", "there"),
                              won(63, "X=10,A=4", "elsewhere"),  // not in the space
                              of_other_template,
                              of_older_interface,
                              won(512, "X=2,A=2", "there")};  // the default
    f.database.put_winners(winners);
    f.request.problems = {kSmall};
    f.request.strategy = "random";
    CHECK(f.run().measured == kValid);
    REQUIRE(f.seen.size() == kValid);
    CHECK(to_string(f.seen[0].configuration) == "X=2,A=2");
    CHECK(to_string(f.seen[1].configuration) == "X=4,A=1");
    CHECK(to_string(f.seen[2].configuration) == "X=9,A=1");
    std::set<std::string> distinct;
    for (const Trial& trial : f.seen) distinct.insert(to_string(trial.configuration));
    CHECK(distinct.size() == f.seen.size());
  }

  TEST_CASE("screening gets 1.25 times the best so far") {
    Fixture f;
    double best = 0;
    f.script->measure = [&best](const MeasureRequest& m) {
      if (m.timing.samples > 1) CHECK(m.timing.stop_above_us == doctest::Approx(1.25 * best));
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

  TEST_CASE("a search until a share is reached ends there, and leaves the space open") {
    Fixture fixture;
    std::vector<std::int64_t> forty;
    for (int i = 1; i <= 40; ++i) forty.push_back(i);
    fixture.kernel.space = ConfigSpace({{"X", "", forty}, {"A", "", forty}}, {});
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

  TEST_CASE("nothing is said of a space of which little was tried") {
    Fixture fixture;
    fixture.request.budget.trials = 7;
    CHECK(fixture.run().problems[0].reached_share < 0.01);
  }

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

  TEST_CASE("a worker that is killed before the first trial is replaced") {
    Fixture f;
    f.script->deaths_at_start = 2;
    CHECK(f.run().measured == kValid);
    f.script->deaths_at_start = 3;
    CHECK_THROWS_AS(f.run(), EnvironmentError);
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
        return WorkerOutcome(WorkerReply(measured(tries++ == 0 ? 9.95 : 10.4)));
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

  TEST_CASE("a search on the CPU device ends after 30 s by default") {
    Fixture f;
    double remaining_s = 0;
    const auto run = [&] {
      static_cast<void>(
          tune(f.request, f.setup,
               [&](const TuneProgress& p) { remaining_s = p.remaining_s.value_or(0); }, {}));
    };
    f.setup.device.cpu_model = "Test CPU";
    run();
    CHECK(remaining_s > 20);
    CHECK(remaining_s <= 30);
  }

  TEST_CASE("cuBLAS is timed in the same finals when asked for") {
    Fixture f;
    f.request.baseline = "cublas";
    f.script->measure = [](const MeasureRequest& m) {
      return WorkerOutcome(WorkerReply(measured(m.baseline == "cublas" ? 9.5 : time_us(m))));
    };
    CHECK(f.run().problems[0].baseline_us == doctest::Approx(9.5));
  }

  TEST_CASE("configurations with the same machine code are measured once and counted") {
    Fixture f;
    f.setup.compile_jobs = 1;
    f.script->compile = [](const CompileRequest& c) {
      WorkerOutcome outcome = ScriptedWorker::compiled(c);
      std::string& cubin = std::get<CompileReply>(std::get<WorkerReply>(outcome)).cubin;
      if (macro(cubin, "X") == 5) cubin = "-DX=5 -DA=2";
      return outcome;
    };
    int of_equal_code = 0;
    f.script->measure = [&](const MeasureRequest& m) {
      of_equal_code += m.timing.samples > 1 && macro(m.cubin, "X") == 5;
      return WorkerOutcome(WorkerReply(measured(time_us(m))));
    };
    const TuneReport report = f.run();
    CHECK(of_equal_code == 1);
    CHECK(report.duplicate_kernels == 3);
    CHECK(report.measured == kValid);  // trials
    std::set<double> times;
    for (const Trial& trial : f.seen) {
      if (trial.configuration.at("X") == 5) times.insert(trial.measurement.median_us);
    }
    CHECK(times.size() == 1);
  }

  TEST_CASE("of finalists with the same machine code one plays") {
    Fixture f;
    // All with A=2 are equal, and fastest; those with A=1 come next.
    f.script->compile = [](const CompileRequest& c) {
      WorkerOutcome outcome = ScriptedWorker::compiled(c);
      std::string& cubin = std::get<CompileReply>(std::get<WorkerReply>(outcome)).cubin;
      if (macro(cubin, "A") == 2) cubin = "-DX=5 -DA=2";
      return outcome;
    };
    int played = 0;
    f.script->measure = [&](const MeasureRequest& m) {
      const int a = macro(m.cubin, "A");
      if (m.timing.samples == 1 && a == 2) ++played;
      return WorkerOutcome(WorkerReply(measured(a == 2 ? 10 : a == 1 ? 10.2 : 20)));
    };
    const TuneReport report = f.run();
    CHECK(played == 11);  // rounds
    REQUIRE(report.problems.front().winner);
    for (const Configuration& tie : report.problems.front().winner->ties) CHECK(tie.at("A") == 1);
  }

  TEST_CASE("without overlap nothing is compiled while a kernel waits to be measured") {
    Fixture f;
    f.setup.overlap = false;
    int ahead = 0;
    f.script->measure = [&](const MeasureRequest& m) {
      if (m.timing.samples > 1) ahead = std::max(ahead, f.script->compiles - f.script->measures);
      return WorkerOutcome(WorkerReply(measured(time_us(m))));
    };
    CHECK(f.run().measured == kValid);
    CHECK(ahead == 0);
  }

  TEST_CASE("without overlap nothing is measured while a kernel is compiled") {
    Fixture f;
    f.setup.overlap = false;
    f.request.problems = {kSmall, kLarge};
    f.request.strategy = "model";
    std::mutex mutex;
    std::condition_variable measured_one;
    f.script->measure = [&](const MeasureRequest& m) {
      measured_one.notify_all();
      return WorkerOutcome(WorkerReply(measured(time_us(m))));
    };
    bool measured_meanwhile = false;
    f.script->compile = [&](const CompileRequest& c) {
      if (f.script->compiles == 20) {
        std::unique_lock lock(mutex);
        const int before = f.script->measures;
        measured_meanwhile = measured_one.wait_for(lock, std::chrono::milliseconds(300),
                                                   [&] { return f.script->measures > before; });
      }
      return ScriptedWorker::compiled(c);
    };
    f.run();
    CHECK_FALSE(measured_meanwhile);
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
    CHECK_THROWS_WITH_AS(f.run(), doctest::Contains("could not be killed"), EnvironmentError);
    CHECK(f.script->measures == 5);
    CHECK(f.database.stats().trials == 5);
  }
}

}  // namespace autotune::test
