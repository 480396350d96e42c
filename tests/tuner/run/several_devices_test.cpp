// The tuning loop with several devices: together they do what one alone would have done.
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "tests/tuner/tune_fixture.hpp"

namespace autotune::test {
namespace {

// Devices in the place of the fixture's one, each with a script of its own.
struct SeveralDevices : TuneFixture {
  explicit SeveralDevices(std::size_t count) {
    setup.measuring.clear();
    for (std::size_t i = 0; i < count; ++i) {
      auto& own = scripts.emplace_back(std::make_shared<Script>());
      own->measure = [this, i, answer = script->measure](const MeasureRequest& asked) {
        wait_for_all();
        note(i, asked);
        return answer(asked);
      };
      DeviceInfo info = setup.device;
      info.ordinal = static_cast<int>(i);
      setup.measuring.push_back(
          {info, [own] { return std::make_unique<ScriptedWorker>(own); }, {}});
    }
    request.problems.clear();
    for (std::int64_t size = 1; size <= 6; ++size) {
      request.problems.push_back(GemmProblem{.m = 64 * size, .n = 64, .k = 64});
    }
  }

  // Nobody goes on before everybody has begun.
  void wait_for_all() const {
    for (const auto& own : scripts) {
      while (own->measures == 0) std::this_thread::yield();
    }
  }

  void note(std::size_t device, const MeasureRequest& asked) {
    const std::lock_guard lock(mutex);
    if (asked.timing.samples == 1) finals_on[asked.problem].insert(device);
  }

  TuneReport run() {
    return tune(
        request, setup,
        [this](const TuneProgress& p) {
          if (p.last) seen.push_back(*p.last);
          if (p.failed) failures.push_back(p.failed->device.ordinal);
        },
        stop.get_token());
  }

  // Each configuration of each problem once, and the right winners.
  void check_complete(const TuneReport& report) {
    std::set<std::string> distinct;
    for (const Trial& trial : seen) {
      distinct.insert(to_string(trial.problem) + " " + to_string(trial.configuration));
    }
    CHECK(distinct.size() == seen.size());
    CHECK(seen.size() == 6 * kValid);
    CHECK(report.measured == 6 * kValid);
    CHECK(report.complete);
    for (const ProblemResult& result : report.problems) {
      REQUIRE(result.winner);
      CHECK(result.winner->confirmed);
      CHECK(to_string(result.winner->configuration) == "X=7,A=2");
    }
  }

  std::vector<std::shared_ptr<Script>> scripts;
  std::mutex mutex;
  std::map<Problem, std::set<std::size_t>> finals_on;
  std::vector<int> failures;
};

TEST_SUITE("tune on several devices") {
  TEST_CASE("all get work, every configuration is measured once and finals stay on one device") {
    SeveralDevices f(3);
    const TuneReport report = f.run();
    f.check_complete(report);
    CHECK(f.script->compiles == kValid);
    CHECK(f.finals_on.size() == 6);
    for (const auto& [problem, devices] : f.finals_on) CHECK(devices.size() == 1);
    REQUIRE(report.devices.size() == 3);
    for (const DeviceUse& use : report.devices) CHECK(use.failure.empty());
    CHECK(f.failures.empty());
    CHECK(f.run().measured == 0);
  }

  TEST_CASE(
      "a device that only fails leaves everything to the others and nothing in the database") {
    SeveralDevices f(2);
    // It has had its chance before the other one goes on.
    f.scripts[1]->measure = [&f](const MeasureRequest&) {
      f.wait_for_all();
      return WorkerOutcome(WorkerFailure{WorkerFailure::Kind::died, "fell off the bus"});
    };
    f.scripts[0]->measure = [&f, answer = f.scripts[0]->measure](const MeasureRequest& request) {
      while (f.scripts[1]->measures < 20) std::this_thread::yield();
      return answer(request);
    };
    const TuneReport report = f.run();
    f.check_complete(report);
    CHECK(report.statuses.at(TrialStatus::ok) == 6 * kValid);
    CHECK(f.failures == std::vector<int>{1});
    REQUIRE(report.devices.size() == 2);
    CHECK(report.devices[1].failure.find("fell off the bus") != std::string::npos);
    CHECK(f.database.stats().failed_trials == 0);
  }

  TEST_CASE("a device that fails in the finals leaves them to the others") {
    SeveralDevices f(2);
    f.scripts[1]->measure = [answer = f.scripts[1]->measure](const MeasureRequest& request) {
      if (request.timing.samples > 1) return answer(request);
      return WorkerOutcome(WorkerFailure{WorkerFailure::Kind::timed_out, "hangs"});
    };
    f.check_complete(f.run());
  }

  TEST_CASE("a candidate that fails on every device is stored as failed, once") {
    SeveralDevices f(2);
    for (auto& script : f.scripts) {
      script->measure = [answer = script->measure](const MeasureRequest& request) {
        if (macro(request.cubin, "X") == 6 && macro(request.cubin, "A") == 2) {
          return WorkerOutcome(WorkerFailure{WorkerFailure::Kind::died, "signal 11"});
        }
        return answer(request);
      };
    }
    const TuneReport report = f.run();
    f.check_complete(report);
    CHECK(report.statuses.at(TrialStatus::run_crashed) == 6);
    CHECK(f.database.stats().failed_trials == 6);
    CHECK(f.failures.empty());
  }

  TEST_CASE("when all devices fail, so does the run") {
    SeveralDevices f(3);
    for (auto& script : f.scripts) {
      script->measure = [](const MeasureRequest&) {
        return WorkerOutcome(WorkerFailure{WorkerFailure::Kind::died, "fell off the bus"});
      };
    }
    CHECK_THROWS_WITH_AS(f.run(), doctest::Contains("fell off the bus"), EnvironmentError);
    CHECK(f.failures.size() == 2);
  }

  TEST_CASE("a budget of trials is kept exactly") {
    SeveralDevices f(3);
    f.request.budget.trials = 17;
    CHECK(f.run().measured == 17);
    CHECK(f.run().measured == 0);
  }

  TEST_CASE("a device in use elsewhere is asked for only when something has to be measured") {
    SeveralDevices f(1);
    int asked = 0;
    f.setup.measuring[0].reserve = [&asked](const std::stop_token&) {
      ++asked;
      return Reservation();
    };
    f.run();
    CHECK(asked == 1);
    CHECK(f.run().measured == 0);
    CHECK(asked == 1);
    // Another request, of which every trial is known, but no finals.
    f.request.filter.tile_widths = {1};
    const TuneReport part = f.run();
    CHECK(part.measured == 0);
    CHECK(part.known == 6 * 4);
    CHECK(part.problems[0].winner->confirmed);
    CHECK(asked == 2);
    CHECK(f.run().measured == 0);
    CHECK(asked == 2);
  }

  TEST_CASE("only waiting for other programs is not taken from the budget") {
    using std::chrono::seconds;
    for (const seconds waited : {seconds(0), seconds(50)}) {
      CAPTURE(waited.count());
      SeveralDevices f(1);
      f.request.strategy = "exhaustive";
      f.request.budget.seconds = 60;
      f.request.began = std::chrono::steady_clock::now() - seconds(61);
      f.setup.measuring[0].reserve = [&](const std::stop_token&) {
        return Reservation{.held = {}, .waited = waited};
      };
      CHECK((f.run().measured > 0) == (waited > seconds(0)));
    }
  }

  TEST_CASE("a device that others had for the whole budget is said, though its rates are known") {
    SeveralDevices f(1);
    f.run();
    f.request.problems = {GemmProblem{.m = 7, .n = 64, .k = 64}};
    f.request.budget.seconds = 60;
    f.request.began = std::chrono::steady_clock::now() - std::chrono::seconds(61);
    f.setup.measuring[0].reserve = [](const std::stop_token&) -> Reservation {
      throw EnvironmentError("in use");
    };
    CHECK_THROWS_WITH_AS(f.run(), "in use", EnvironmentError);
  }

  TEST_CASE("a failure after a request to stop leaves the run an interrupted one") {
    SeveralDevices f(1);
    f.scripts[0]->measure = [&f](const MeasureRequest&) {
      f.stop.request_stop();
      return WorkerOutcome(WorkerFailure{WorkerFailure::Kind::no_service, "the GPU is lost"});
    };
    const TuneReport report = f.run();
    CHECK(report.interrupted);
    CHECK(report.failure.empty());
  }

  TEST_CASE("what another run has stored while the device was waited for is not measured again") {
    SeveralDevices f(1);
    SeveralDevices other(1);
    other.setup.database = &f.database;
    f.setup.measuring[0].reserve = [&other](const std::stop_token&) {
      other.run();
      return Reservation();
    };
    const TuneReport report = f.run();
    CHECK(report.measured == 0);
    CHECK(report.known == 6 * kValid);
    CHECK(f.scripts[0]->measures == 0);
    CHECK(report.problems[0].winner->confirmed);
  }

  TEST_CASE("a kernel whose worker cannot be killed costs one device and not a second") {
    SeveralDevices f(2);
    std::atomic<int> hung = 0;
    for (const auto& own : f.scripts) {
      own->measure = [&hung, before = own->measure](const MeasureRequest& m) {
        const WorkerOutcome answer = before(m);
        const bool hangs =
            m.problem == kSmall && macro(m.cubin, "X") == 5 && macro(m.cubin, "A") == 2;
        if (!hangs) return answer;
        ++hung;
        return WorkerOutcome(
            WorkerFailure{WorkerFailure::Kind::timed_out, "could not be killed", true});
      };
    }
    const TuneReport report = f.run();
    f.check_complete(report);
    CHECK(hung == 1);
    CHECK(f.failures.size() == 1);
    CHECK(report.statuses.at(TrialStatus::run_timeout) == 1);
  }
}

}  // namespace
}  // namespace autotune::test
