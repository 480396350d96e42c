// The devices that measure: each has a thread with a measuring worker, and all take their jobs from
// one queue.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/mailbox.hpp"
#include "tuner/devices/device_executor.hpp"
#include "tuner/devices/jobs.hpp"
#include "tuner/devices/measuring_device.hpp"

namespace autotune {

// Belongs to one thread, its owner. A device that fails for good leaves its jobs to the others.
// Where there is another device, a job that cost a worker is done once more there, since a failure
// on one device alone says nothing about the kernel.
class DevicePool {
 public:
  // Each device is reserved in its own thread, and tried out there if there are several devices.
  // The outcomes of jobs and the failures of devices are posted to `events`. After a request to
  // stop, jobs that have not begun have empty outcomes.
  DevicePool(const std::vector<MeasuringDevice>& devices, std::chrono::milliseconds allowance,
             Mailbox<Event>& events, std::stop_token stop);
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // Waits until a device is reserved or all have failed, which the mailbox then says. Returns how
  // long other programs had the device that was reserved first; nullopt when a request to stop came
  // first.
  std::optional<std::chrono::steady_clock::duration> wait_for_device();

  void submit(DeviceJob job);
  // The owner reports that it has taken the outcome of a job from the mailbox.
  void outcome_taken() { --open_; }
  // Drops the jobs that have not begun.
  void drop_queued();
  // Drops the jobs that have not begun, waits for the others and gives the devices up.
  void close();
  [[nodiscard]] std::size_t size() const { return threads_.size(); }
  // The number of jobs whose outcome the owner has not taken.
  [[nodiscard]] std::size_t open_jobs() const { return open_; }

  // The use of the devices so far, in the order of the constructor.
  [[nodiscard]] std::vector<DeviceUse> use();

 private:
  struct Entry {
    DeviceJob job;
    std::optional<std::size_t> cost_worker_of;  // the first device whose worker was lost with it
  };
  struct Device {
    MeasuringDevice setup;
    DeviceUse use;
    std::vector<Problem> problems;  // that it has set up
    bool reserved = false;
    int lost_in_a_row = 0;  // workers lost with jobs that cost no other device a worker
  };

  void work(const std::stop_token& closing, std::size_t index, std::chrono::milliseconds allowance);
  // Waits for an entry. Returns nullopt when the pool closes.
  std::optional<Entry> take(const std::stop_token& closing, std::size_t index);
  std::deque<Entry>::iterator choose(std::size_t index);
  // Throws when the device has failed; `entry` then still has the job.
  void run(std::size_t index, DeviceExecutor& executor, std::optional<Entry>& entry);
  // Updates the device's figures after a job. Returns true when another device must repeat the job.
  bool account(std::size_t index, const TrialRunner& runner, Entry& entry, bool cost_worker);
  void fail(std::size_t index, std::optional<Entry> entry, const std::string& reason);
  void stop_threads();

  Mailbox<Event>& events_;
  std::stop_token stop_;
  std::size_t open_ = 0;  // used by the owner alone

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Device> devices_;
  std::deque<Entry> queue_;
  std::size_t reserved_ = 0;                      // devices, among those that are left
  std::size_t left_;                              // devices that have not failed
  std::chrono::steady_clock::duration waited_{};  // of the device that was reserved first
  std::vector<std::jthread> threads_;
};

}  // namespace autotune
