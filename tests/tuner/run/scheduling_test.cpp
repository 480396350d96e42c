// Which trials a search makes when: what other sizes found, what is built, what waits.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "tests/tuner/tune_fixture.hpp"
#include "tuner/run/tuner.hpp"

namespace autotune::test {
namespace {

using Fixture = TuneFixture;

}  // namespace

TEST_SUITE("tune: scheduling") {
  TEST_CASE("what does well for one size is tried for the others") {
    int found_early = 0;
    for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
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
        const auto trial_for = [&](const Problem& problem) {
          return std::ranges::find_if(fixture.seen, [&](const Trial& trial) {
            return trial.problem == problem && trial.configuration == result.winner->configuration;
          });
        };
        // Some trials are under way when a winner is found, which may be among the last.
        if (fixture.seen.end() - trial_for(result.problem) < 20) continue;
        ++found_early;
        CHECK(trial_for(other) != fixture.seen.end());
      }
    }
    CHECK(found_early >= 3);  // by chance alone two thirds of them would be tried
  }

  TEST_CASE("a kernel that takes long to compile is measured soon after it is built") {
    TuneFixture f;
    f.setup.compile_jobs = 16;
    f.request.problems.clear();
    for (int size = 1; size <= 12; ++size) {
      f.request.problems.push_back(GemmProblem{.m = size, .n = 64, .k = 64});
    }
    // The default, which is proposed first, is built last; nothing is measured until then.
    std::atomic<int> built = 0;
    f.script->compile = [&](const CompileRequest& request) {
      const std::string options = fmt::format("{}", fmt::join(request.options, " "));
      const bool is_default = macro(options, "X") == 2 && macro(options, "A") == 2;
      while (is_default && built < kValid - 1) std::this_thread::yield();
      ++built;
      return ScriptedWorker::compiled(request);
    };
    f.script->measure = [&, answer = f.script->measure](const MeasureRequest& request) {
      while (built < kValid) std::this_thread::yield();
      return answer(request);
    };
    f.run();
    const auto first = std::ranges::find_if(
        f.seen, [](const Trial& t) { return to_string(t.configuration) == "X=2,A=2"; });
    // Of 372. The order in which kernels are built would put it behind 360.
    CHECK(first - f.seen.begin() < 250);
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
      winner.median_us = winner.low_us = winner.high_us = 1;
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

  TEST_CASE("with the same machine code each preparation of the operands is measured, and plays") {
    Fixture f;
    f.setup.compile_jobs = 1;
    f.kernel.launch_parameters = {{"A", 0}};
    f.kernel.geometry = [](const Configuration& c, const Problem&) {
      return LaunchGeometry{.block = {32, 1, 1},
                            .preparation = {.blocks = 8, .threads = c.at("A")}};
    };
    // More threads are a tenth faster, and come later in the space.
    f.script->measure = [](const MeasureRequest& m) {
      const auto threads = static_cast<double>(m.geometry.preparation.threads);
      const double us = (10 + macro(m.cubin, "X")) * (1 - 0.1 * threads / 4);
      return WorkerOutcome(WorkerReply(measured(us)));
    };
    const TuneReport report = f.run();
    CHECK(report.duplicate_kernels == 0);
    REQUIRE(report.problems.front().winner);
    CHECK(to_string(report.problems.front().winner->configuration) == "X=1,A=4");
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
}

}  // namespace autotune::test
