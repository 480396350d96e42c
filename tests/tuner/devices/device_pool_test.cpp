// DevicePool: who does which job, and what becomes of those whose device fails.
#include "tuner/devices/device_pool.hpp"

#include <condition_variable>
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

// Scripted devices with their benches. A job knows its device by the script that it is answered by.
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
  // Devices that others use: their benches wait until open(), or until they are told to stop.
  void close(std::size_t index) {
    setups[index].reserve = [this, index](const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return open_.contains(index); });
      return std::shared_ptr<void>();
    };
  }
  void open(std::size_t index) {
    const std::lock_guard lock(mutex_);
    open_.insert(index);
    changed_.notify_all();
  }

  void start() {
    benches.emplace(setups, std::chrono::seconds(30), wake_up,
                    [this](const DeviceUse& use) { failed.push_back(use); });
  }
  // Measures once, for the problem; `name` is kept when it is done.
  void submit(const std::string& name, const Problem& problem) {
    const auto status = std::make_shared<TrialStatus>();
    benches->submit(
        {problem,
         [this, name, problem, status](TrialRunner& runner) {
           const BuiltKernel built{.image = name};
           *status =
               runner.run(kernel, kernel.default_configuration(problem), problem, built, {}).status;
         },
         [this, name, status] { done.emplace_back(name, *status); }});
  }

  // For answers: until each device was asked for one, and so is known to be there.
  void wait_for_both() const {
    while (scripts[0]->measures == 0 || scripts[1]->measures == 0) std::this_thread::yield();
  }

  KernelTemplate kernel = fake_template();
  std::vector<std::shared_ptr<Script>> scripts;
  std::vector<MeasuringDevice> setups;
  std::vector<DeviceUse> failed;
  std::vector<std::pair<std::string, TrialStatus>> done;
  WakeUp wake_up;

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::set<std::size_t> open_;

 public:
  std::optional<DevicePool> benches;  // last: its threads use the rest
};

Problem cube(std::int64_t size) {
  return GemmProblem{.m = size, .n = size, .k = size};
}

TEST_SUITE("benches") {
  TEST_CASE("one device does its jobs in the order in which they came") {
    Devices devices(1);
    devices.close(0);
    devices.start();
    const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
    for (const std::string& name : names) devices.submit(name, cube(name == "c" ? 1 : 2));
    devices.open(0);
    devices.benches->drain_all();
    REQUIRE(devices.done.size() == names.size());
    for (std::size_t i = 0; i < names.size(); ++i) CHECK(devices.done[i].first == names[i]);
    CHECK(devices.benches->open_jobs() == 0);
  }

  TEST_CASE("a device keeps to the problem that it has set up while there are others") {
    Devices devices(2);
    devices.close(1);
    devices.start();
    devices.submit("a", cube(1));
    devices.benches->drain_all();
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
    devices.benches->drain_all();
    // Then, rather than nothing, what the first one has set up.
    CHECK(of_second == std::vector<std::int64_t>{2, 1});
  }

  TEST_CASE("a device that others use is not waited for while there is another") {
    Devices devices(2);
    devices.close(0);
    devices.start();
    CHECK(devices.benches->wait_for_device({}));
    for (int i = 0; i < 5; ++i) devices.submit("a", cube(1));
    devices.benches->drain_all();
    CHECK(devices.done.size() == 5);
    CHECK(devices.scripts[0]->measures == 0);
  }

  TEST_CASE("a request to stop ends the waiting for devices") {
    Devices devices(1);
    devices.close(0);
    devices.start();
    std::stop_source stop;
    stop.request_stop();
    CHECK_FALSE(devices.benches->wait_for_device(stop.get_token()));
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
    devices.benches->drain_all();
    devices.submit("bad", cube(1));
    devices.benches->drain_all();
    REQUIRE(devices.done.size() == 3);
    CHECK(devices.done[2].second == TrialStatus::run_crashed);
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
    devices.benches->drain_all();
    while (devices.failed.empty()) static_cast<void>(devices.benches->drain_one());
    CHECK(devices.failed[0].device.ordinal == 1);
    CHECK(devices.failed[0].failure == "no such device");
    std::set<std::string> distinct;
    for (const auto& [name, status] : devices.done) {
      CHECK(status == TrialStatus::ok);
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
    devices.benches->drain_all();
    CHECK(devices.done.size() == 50);
    for (const auto& [name, status] : devices.done) CHECK(status == TrialStatus::ok);
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
    CHECK_THROWS_WITH_AS(devices.benches->drain_all(), doctest::Contains("fell off the bus"),
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
    devices.benches->drop_queued();
    CHECK(devices.benches->open_jobs() == 1);
    go_on.set_value();
    devices.benches->drain_all();
    REQUIRE(devices.done.size() == 1);
    CHECK(devices.done[0].first == "a");
  }
}

}  // namespace
}  // namespace autotune::test
