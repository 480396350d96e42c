// Tuning on a device that other programs use at the same time.
#include <atomic>
#include <condition_variable>
#include <mutex>

#include <doctest/doctest.h>

#include "tests/tuner/tune_fixture.hpp"

namespace autotune::test {
namespace {

struct SharedFixture : TuneFixture {
  SharedFixture() { setup.measuring.front().share = 0.05; }
};

// Answers no request to measure until it is interrupted.
class HangingWorker : public ScriptedWorker {
 public:
  HangingWorker(std::shared_ptr<Script> script, std::function<void()> on_measure)
      : ScriptedWorker(std::move(script)), on_measure_(std::move(on_measure)) {}

  WorkerOutcome call(const WorkerRequest& request, CallLimit limit) override {
    if (!std::holds_alternative<MeasureRequest>(request)) {
      return ScriptedWorker::call(request, limit);
    }
    on_measure_();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_interrupted_; });
    return WorkerFailure{WorkerFailure::Kind::died, "killed"};
  }
  void interrupt() override {
    const std::lock_guard lock(mutex_);
    is_interrupted_ = true;
    changed_.notify_all();
  }

 private:
  std::function<void()> on_measure_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_interrupted_ = false;
};

TEST_SUITE("tuning on a shared device") {
  TEST_CASE("every measurement keeps to the share, in samples shorter than a turn of others") {
    SharedFixture f;
    f.script->measure = [](const MeasureRequest& m) {
      CHECK(m.share == 0.05);
      CHECK(m.timing.min_sample_us == 500);
      return WorkerOutcome(WorkerReply(measured(time_us(m))));
    };
    const TuneReport report = f.run();
    CHECK(report.measured == kValid);
    CHECK(report.problems[0].winner->configuration == Configuration({{"X", 7}, {"A", 2}}));
    CHECK(report.problems[0].winner->confirmed);
    CHECK_FALSE(report.rates.has_value());  // others would be in the device's measured rates
  }

  TEST_CASE("a measurement may take as much longer as it has to rest") {
    TuneFixture alone;
    SharedFixture shared;
    static_cast<void>(alone.run());
    static_cast<void>(shared.run());
    CHECK(shared.script->measure_timeout_ms >= 19 * alone.script->measure_timeout_ms);
  }

  TEST_CASE("a stop ends the measurement under way, which says nothing about its kernel") {
    SharedFixture f;
    f.setup.measuring.front().make_worker = [&] {
      return std::make_unique<HangingWorker>(f.script, [&] { f.stop.request_stop(); });
    };
    const TuneReport report = f.run();
    CHECK(report.interrupted);
    CHECK(report.measured == 0);
    CHECK_FALSE(report.problems[0].winner.has_value());
  }

  TEST_CASE("a stop in the finals decides nothing") {
    SharedFixture f;
    std::atomic<int> samples = 0;
    f.script->measure = [&](const MeasureRequest& m) {
      if (m.timing.samples == 1 && ++samples > 10) {
        f.stop.request_stop();
        return WorkerOutcome(WorkerFailure{WorkerFailure::Kind::died, "killed"});
      }
      return WorkerOutcome(WorkerReply(measured(100)));  // all are finalists
    };
    const TuneReport report = f.run();
    CHECK(report.interrupted);
    CHECK_FALSE(report.problems[0].winner->confirmed);
    CHECK(f.database.winners({}).empty());
  }

  TEST_CASE(
      "what runs now has the first trial of a search, before defaults and winners of other "
      "problems") {
    TuneFixture f;
    // Far more winners of other problems than a search begins with.
    for (int x = 1; x <= 10; ++x) {
      Winner other;
      other.problem = GemmProblem{.m = 1000 + x, .n = 1000, .k = 1000};
      other.device_class = f.setup.device.device_class();
      other.template_name = "fake";
      other.space_version = 1;
      other.configuration = Configuration({{"X", x}, {"A", 1}});
      other.median_us = other.low_us = other.high_us = 100;
      f.database.put_winners(std::vector{other});
    }
    REQUIRE(f.database.winners({}).size() == 10);
    Winner in_use;
    in_use.problem = kSmall;
    in_use.template_name = "fake";
    in_use.space_version = 1;
    in_use.configuration = Configuration({{"X", 7}, {"A", 2}});  // the fastest
    f.request.begin_with = {in_use};
    KernelTemplate another = fake_template();
    another.name = "another";
    f.request.templates = {&another, &f.kernel};
    f.request.strategy = "model";
    f.request.budget.trials = 1;
    const TuneReport report = f.run();
    REQUIRE(report.problems[0].winner.has_value());
    CHECK(report.problems[0].winner->configuration == in_use.configuration);
  }
}

}  // namespace
}  // namespace autotune::test
