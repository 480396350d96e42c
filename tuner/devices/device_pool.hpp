// Where kernels are measured: one bench a device, each a thread with a measuring worker of its own,
// all fed from one queue.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "tuner/devices/measuring_device.hpp"
#include "tuner/devices/trial_runner.hpp"
#include "tuner/devices/wake_up.hpp"

namespace autotune {

// Something to be done on a device.
struct DeviceJob {
  Problem problem;  // a bench keeps to the problems that it has set up
  // In a bench's thread; all over again in another one's when the first device failed.
  std::function<void(TrialRunner&)> run;
  std::function<void()> done;  // in the owner's thread, after run
};

// Belongs to one thread, its owner. A device that fails for good leaves its jobs to the others.
// Where there is another device, a job that cost a worker is done once more there: what happens on
// one device alone says nothing about a kernel.
class DevicePool {
 public:
  using FailureSink = std::function<void(const DeviceUse&)>;

  // Reserves the devices, each in its bench's thread; of several, each is tried out. Raises
  // `wake_up` when there is something for the owner to do. `on_failure` hears, in the owner's
  // thread, of devices that leave work to others.
  DevicePool(const std::vector<MeasuringDevice>& devices, std::chrono::milliseconds allowance,
             WakeUp& wake_up, FailureSink on_failure);
  // As close(), but that nobody hears of failures.
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // Waits until a device is reserved. False when `stop` came first.
  bool wait_for_device(const std::stop_token& stop);

  void submit(DeviceJob job);
  // Calls done() of the job that was finished first; false when none is. Throws what was wrong with
  // the last device when none is left.
  bool drain_one();
  // Settles all that was submitted.
  void drain_all();
  // Forgets the jobs that have not begun.
  void drop_queued();
  // Drops what has not begun, waits for what has and gives the devices up.
  void close();
  [[nodiscard]] std::size_t size() const { return threads_.size(); }
  // Jobs that were submitted and are not settled.
  [[nodiscard]] std::size_t open_jobs() const { return open_; }

  // What the devices have done so far, in the order of the constructor.
  [[nodiscard]] std::vector<DeviceUse> use();

 private:
  struct Entry {
    DeviceJob job;
    std::optional<std::size_t> cost_worker_of;  // the first bench that lost one with it
  };
  struct Bench {
    MeasuringDevice device;
    DeviceUse use;
    std::vector<Problem> problems;  // that were set up
    int lost_in_a_row = 0;          // workers, with jobs that nobody else lost one with
  };

  void work(const std::stop_token& stop, std::size_t index, std::chrono::milliseconds allowance);
  // Waits for an entry; nullopt when asked to stop.
  std::optional<Entry> take(const std::stop_token& stop, std::size_t index);
  std::deque<Entry>::iterator choose(std::size_t index);
  // Throws when the device has failed; the entry is then still there.
  void run(std::size_t index, TrialRunner& runner, std::optional<Entry>& entry);
  void fail(std::size_t index, std::optional<Entry> entry, const std::string& reason);
  void announce();
  void tell_failures();
  void stop_threads();

  WakeUp& wake_up_;
  FailureSink on_failure_;
  std::size_t open_ = 0;  // the owner's, as all above

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Bench> devices_;
  std::deque<Entry> queue_;
  std::deque<DeviceJob> finished_;
  std::deque<DeviceUse> failed_;   // of which the owner does not know yet
  std::size_t reserved_ = 0;       // devices, of those that are left
  std::size_t left_;               // devices that have not failed
  std::exception_ptr last_error_;  // of the last device
  std::vector<std::jthread> threads_;
};

}  // namespace autotune
