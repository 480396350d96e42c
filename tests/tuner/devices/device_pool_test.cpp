// DevicePool: which device does which job, and what becomes of the jobs of a device that fails.
#include "tuner/devices/device_pool.hpp"

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "tests/tuner/tune_fixture.hpp"

namespace autotune::test {
namespace {

const WorkerFailure kDied{WorkerFailure::Kind::died, "the GPU fell off the bus"};

// Scripted devices in a pool, and the owner that empties its mailbox.
class Devices {
 public:
  explicit Devices(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      auto& script = scripts.emplace_back(std::make_shared<Script>());
      script->measure = [](const MeasureRequest&) {
        return WorkerOutcome(WorkerReply(measured(1)));
      };
      DeviceInfo info = fake_device();
      info.ordinal = static_cast<int>(i);
      setups.push_back({info, [script] { return std::make_unique<ScriptedWorker>(script); }, {}});
    }
  }
  // A device that others use: its thread waits until open(), or until the pool closes.
  void close(std::size_t index) {
    setups[index].reserve = [this, index](const std::stop_token& closing) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, closing, [&] { return open_.contains(index); });
      return Reservation{.held = {}, .waited = std::chrono::hours(1)};
    };
  }
  void open(std::size_t index) {
    const std::lock_guard lock(mutex_);
    open_.insert(index);
    changed_.notify_all();
  }

  void start() { pool.emplace(setups, std::chrono::seconds(30), events, stop.get_token()); }
  // Measures a kernel once for the problem. The name is the kernel's cubin.
  void submit(const std::string& name, const Problem& problem, BestTime* best = nullptr) {
    const BuiltKernel& built = kernels.emplace_back(BuiltKernel{.image = name, .code = name});
    pool->submit(MeasureJob{.id = {0, kernels.size() - 1},
                            .problem = problem,
                            .kernel = &kernel,
                            .configuration = kernel.default_configuration(problem),
                            .built = &built,
                            .best = best});
  }
  void handle(Event event) {
    if (const auto* failure = std::get_if<DeviceFailed>(&event)) {
      if (failure->error) std::rethrow_exception(failure->error);
      failed.push_back(failure->device);
      return;
    }
    pool->outcome_taken();
    if (auto* trial = std::get_if<TrialDone>(&event)) {
      done.emplace_back(kernels[trial->id.configuration].image, std::move(trial->trial));
    }
  }
  void finish_jobs() {
    while (pool->open_jobs() > 0) handle(events.wait());
  }

  // For answers: until each device was asked for one, and so is known to be there.
  void wait_for_both() const {
    while (scripts[0]->measures == 0 || scripts[1]->measures == 0) std::this_thread::yield();
  }

  KernelTemplate kernel = fake_template();
  std::vector<std::shared_ptr<Script>> scripts;
  std::vector<MeasuringDevice> setups;
  std::vector<DeviceUse> failed;
  std::deque<BuiltKernel> kernels;
  std::vector<std::pair<std::string, std::optional<Trial>>> done;
  std::stop_source stop;
  Mailbox<Event> events;

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::set<std::size_t> open_;

 public:
  std::optional<DevicePool> pool;  // last: its threads use the rest
};

Problem cube(std::int64_t size) {
  return GemmProblem{.m = size, .n = size, .k = size};
}

TEST_SUITE("device pool") {
  TEST_CASE("one device does its jobs in the order in which they came") {
    Devices devices(1);
    devices.close(0);
    devices.start();
    const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
    for (const std::string& name : names) devices.submit(name, cube(name == "c" ? 1 : 2));
    devices.open(0);
    devices.finish_jobs();
    REQUIRE(devices.done.size() == names.size());
    for (std::size_t i = 0; i < names.size(); ++i) CHECK(devices.done[i].first == names[i]);
    CHECK(devices.pool->open_jobs() == 0);
  }

  TEST_CASE("a device keeps to the problem that it has set up while there are others") {
    Devices devices(2);
    devices.close(1);
    devices.start();
    devices.submit("a", cube(1));
    devices.finish_jobs();
    // Device 0 measures problem 1 until the other one has begun problem 2.
    std::promise<void> begun;
    devices.scripts[0]->measure = [&](const MeasureRequest&) {
      begun.get_future().wait();
      return WorkerOutcome(WorkerReply(measured(1)));
    };
    std::vector<std::int64_t> of_second;
    devices.scripts[1]->measure = [&](const MeasureRequest& request) {
      of_second.push_back(request.problem.size("m"));
      if (of_second.size() == 2) begun.set_value();
      return WorkerOutcome(WorkerReply(measured(1)));
    };
    devices.submit("b", cube(1));
    while (devices.scripts[0]->measures < 2) std::this_thread::yield();
    devices.submit("c", cube(1));
    devices.submit("d", cube(2));
    devices.open(1);
    devices.finish_jobs();
    // Then, rather than nothing, what the first one has set up.
    CHECK(of_second == std::vector<std::int64_t>{2, 1});
  }

  TEST_CASE("a device that others use is not waited for while there is another") {
    Devices devices(2);
    devices.close(0);
    devices.start();
    CHECK(devices.pool->wait_for_device() == std::chrono::seconds(0));
    for (int i = 0; i < 5; ++i) devices.submit("a", cube(1));
    devices.finish_jobs();
    CHECK(devices.done.size() == 5);
    CHECK(devices.scripts[0]->measures == 0);
  }

  TEST_CASE("a request to stop ends the waiting for devices") {
    Devices devices(1);
    devices.close(0);
    devices.start();
    devices.stop.request_stop();
    CHECK_FALSE(devices.pool->wait_for_device().has_value());
  }

  TEST_CASE("a job that costs a worker is done once more elsewhere before it is to blame") {
    Devices devices(2);
    for (auto& script : devices.scripts) {
      script->measure = [&](const MeasureRequest& request) {
        devices.wait_for_both();
        if (request.cubin == "bad") return WorkerOutcome(kDied);
        return WorkerOutcome(WorkerReply(measured(1)));
      };
    }
    devices.start();
    for (const char* name : {"good", "good"}) devices.submit(name, cube(1));
    devices.finish_jobs();
    devices.submit("bad", cube(1));
    devices.finish_jobs();
    REQUIRE(devices.done.size() == 3);
    CHECK(devices.done[2].second->status == TrialStatus::run_crashed);
    CHECK(devices.scripts[0]->measures == 2);
    CHECK(devices.scripts[1]->measures == 2);
    CHECK(devices.failed.empty());
  }

  TEST_CASE("a device that cannot be opened leaves its jobs to the others") {
    Devices devices(2);
    devices.setups[1].make_worker = []() -> std::unique_ptr<Worker> {
      throw EnvironmentError("no such device");
    };
    devices.start();
    for (int i = 0; i < 50; ++i) devices.submit(std::to_string(i), cube(i % 3 + 1));
    devices.finish_jobs();
    while (devices.failed.empty()) devices.handle(devices.events.wait());
    CHECK(devices.failed[0].device.ordinal == 1);
    CHECK(devices.failed[0].failure == "no such device");
    std::set<std::string> distinct;
    for (const auto& [name, trial] : devices.done) {
      CHECK(trial->ok());
      distinct.insert(name);
    }
    CHECK(distinct.size() == 50);
    CHECK(devices.done.size() == 50);
  }

  TEST_CASE("what poisons on one device alone is that device's fault, and too often ends its use") {
    Devices devices(2);
    // The good device gets on only after the bad one has had its jobs.
    devices.scripts[1]->measure = [&](const MeasureRequest&) {
      devices.wait_for_both();
      MeasureReply reply = failed(TrialStatus::launch_failed);
      reply.poisoned = true;
      return WorkerOutcome(WorkerReply(reply));
    };
    devices.scripts[0]->measure = [&](const MeasureRequest&) {
      while (devices.scripts[1]->measures < 20) std::this_thread::yield();
      return WorkerOutcome(WorkerReply(measured(1)));
    };
    devices.start();
    for (int i = 0; i < 50; ++i) devices.submit(std::to_string(i), cube(1));
    devices.finish_jobs();
    CHECK(devices.done.size() == 50);
    for (const auto& [name, trial] : devices.done) CHECK(trial->ok());
    CHECK(devices.scripts[1]->measures == 20);
    REQUIRE(devices.failed.size() == 1);
    CHECK(devices.failed[0].failure == "20 jobs in a row cost their worker");
  }

  TEST_CASE("when the last device fails, what was wrong with it comes out") {
    Devices devices(2);
    for (auto& script : devices.scripts) {
      script->measure = [](const MeasureRequest&) { return WorkerOutcome(kDied); };
    }
    devices.start();
    for (int i = 0; i < 100; ++i) devices.submit("a", cube(1));
    CHECK_THROWS_WITH_AS(devices.finish_jobs(), doctest::Contains("fell off the bus"),
                         EnvironmentError);
    CHECK(devices.failed.size() == 1);
  }

  TEST_CASE("jobs that are dropped are not done, and those that have begun are") {
    Devices devices(1);
    std::promise<void> go_on;
    devices.scripts[0]->measure = [&](const MeasureRequest&) {
      go_on.get_future().wait();
      return WorkerOutcome(WorkerReply(measured(1)));
    };
    devices.start();
    for (const char* name : {"a", "b", "c"}) devices.submit(name, cube(1));
    while (devices.scripts[0]->measures == 0) std::this_thread::yield();
    devices.pool->drop_queued();
    CHECK(devices.pool->open_jobs() == 1);
    go_on.set_value();
    devices.finish_jobs();
    REQUIRE(devices.done.size() == 1);
    CHECK(devices.done[0].first == "a");
  }

  TEST_CASE("a job that begins after its deadline or after a stop is empty") {
    Devices devices(1);
    devices.start();
    const BuiltKernel built{.image = "a"};
    devices.kernels.push_back(built);
    devices.pool->submit(MeasureJob{.problem = cube(1),
                                    .kernel = &devices.kernel,
                                    .built = &built,
                                    .deadline = std::chrono::steady_clock::now()});
    devices.finish_jobs();
    devices.stop.request_stop();
    devices.submit("b", cube(1));
    devices.finish_jobs();
    REQUIRE(devices.done.size() == 2);
    for (const auto& [name, trial] : devices.done) CHECK_FALSE(trial.has_value());
    CHECK(devices.scripts[0]->measures == 0);
  }

  TEST_CASE("a job that its end cuts short is empty, and one that times out before is not") {
    using Clock = std::chrono::steady_clock;
    Devices devices(1);
    bool until_end = false;
    Clock::time_point end;
    devices.scripts[0]->measure = [&](const MeasureRequest&) {
      while (until_end && Clock::now() < end) std::this_thread::yield();
      return WorkerOutcome(WorkerFailure{WorkerFailure::Kind::timed_out, "no answer"});
    };
    devices.start();
    for (const bool cut : {false, true}) {
      until_end = cut;
      end = Clock::now() + (cut ? Clock::duration(std::chrono::milliseconds(20))
                                : Clock::duration(std::chrono::hours(1)));
      const BuiltKernel& built = devices.kernels.emplace_back(BuiltKernel{.image = "a"});
      devices.pool->submit(MeasureJob{.id = {0, devices.kernels.size() - 1},
                                      .problem = cube(1),
                                      .kernel = &devices.kernel,
                                      .built = &built,
                                      .end = end});
      devices.finish_jobs();
    }
    REQUIRE(devices.done.size() == 2);
    CHECK(devices.done[0].second->status == TrialStatus::run_timeout);
    CHECK_FALSE(devices.done[1].second.has_value());
  }

  TEST_CASE("a job is screened against the best time when it begins, and lowers it") {
    Devices devices(1);
    devices.close(0);
    std::vector<double> stop_above_us;
    devices.scripts[0]->measure = [&](const MeasureRequest& request) {
      stop_above_us.push_back(request.timing.stop_above_us);
      return WorkerOutcome(WorkerReply(measured(request.cubin == "slow" ? 8 : 4)));
    };
    devices.start();
    BestTime best;
    for (const char* name : {"slow", "fast", "fast too"}) devices.submit(name, cube(1), &best);
    devices.open(0);
    devices.finish_jobs();
    CHECK(stop_above_us == std::vector<double>{0, 1.08 * 8, 1.08 * 4});
    CHECK(best.us() == 4);
  }
}

}  // namespace
}  // namespace autotune::test
