#include "tuner/devices/device_pool.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "core/error_text.hpp"
#include "core/start_thread.hpp"

namespace autotune {
namespace {

// A device is given up after this many jobs in a row that cost its worker but no other device's.
constexpr int kLostInARow = 20;

// Returns null for a job that has no problem.
const Problem* problem_of(const DeviceJob& job) {
  if (const auto* measure = std::get_if<MeasureJob>(&job)) return &measure->problem;
  if (const auto* finals = std::get_if<FinalsJob>(&job)) return &finals->problem;
  return nullptr;
}

bool contains(const std::vector<Problem>& problems, const Problem& problem) {
  return std::ranges::find(problems, problem) != problems.end();
}

}  // namespace

DevicePool::DevicePool(const std::vector<MeasuringDevice>& devices,
                       std::chrono::milliseconds allowance, Mailbox<Event>& events,
                       std::stop_token stop)
    : events_(events), stop_(std::move(stop)), left_(devices.size()) {
  for (const MeasuringDevice& device : devices) {
    devices_.push_back({.setup = device, .use = {.device = device.info}});
  }
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    threads_.push_back(start_thread(
        [this, i, allowance](const std::stop_token& closing) { work(closing, i, allowance); }));
  }
}

DevicePool::~DevicePool() {
  stop_threads();
}

std::optional<std::chrono::steady_clock::duration> DevicePool::wait_for_device() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop_, [this] { return reserved_ > 0 || left_ == 0; })) return {};
  return waited_;
}

void DevicePool::submit(DeviceJob job) {
  ++open_;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(job), std::nullopt});
  }
  changed_.notify_all();
}

void DevicePool::drop_queued() {
  const std::lock_guard lock(mutex_);
  open_ -= queue_.size();
  queue_.clear();
}

void DevicePool::close() {
  drop_queued();
  stop_threads();
}

std::vector<DeviceUse> DevicePool::use() {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceUse> all;
  for (const Device& device : devices_) all.push_back(device.use);
  return all;
}

void DevicePool::work(const std::stop_token& closing, std::size_t index,
                      std::chrono::milliseconds allowance) {
  const MeasuringDevice& device = devices_[index].setup;
  Reservation reservation;
  std::optional<Entry> entry;
  try {
    if (device.reserve) reservation = device.reserve(closing);
    if (closing.stop_requested()) return;
    {
      const std::lock_guard lock(mutex_);
      if (reserved_++ == 0) waited_ = reservation.waited;
      devices_[index].reserved = true;
    }
    changed_.notify_all();
    DeviceExecutor executor(device, allowance, stop_);
    // A device that cannot be opened would otherwise take jobs before it fails.
    if (devices_.size() > 1) executor.runner().calibrate();
    while ((entry = take(closing, index))) run(index, executor, entry);
  } catch (const std::exception& error) {
    fail(index, std::move(entry), error_text(error));
  }
}

std::optional<DevicePool::Entry> DevicePool::take(const std::stop_token& closing,
                                                  std::size_t index) {
  std::unique_lock lock(mutex_);
  std::deque<Entry>::iterator found;
  changed_.wait(lock, closing, [&] { return (found = choose(index)) != queue_.end(); });
  if (closing.stop_requested()) return std::nullopt;
  Entry entry = std::move(*found);
  queue_.erase(found);
  std::vector<Problem>& problems = devices_[index].problems;
  const Problem* problem = problem_of(entry.job);
  if (problem != nullptr && !contains(problems, *problem)) problems.push_back(*problem);
  return entry;
}

// Setting up a problem's operands takes time. So a device takes a job of a problem that only other
// devices have set up only when there is no other job.
std::deque<DevicePool::Entry>::iterator DevicePool::choose(std::size_t index) {
  auto of_others = queue_.end();
  for (auto entry = queue_.begin(); entry != queue_.end(); ++entry) {
    if (entry->cost_worker_of == index && reserved_ > 1) continue;
    const Problem* problem = problem_of(entry->job);
    const auto has_set_up = [&](const Device& device) {
      return contains(device.problems, *problem);
    };
    if (problem == nullptr || has_set_up(devices_[index]) ||
        std::ranges::none_of(devices_, has_set_up)) {
      return entry;
    }
    if (of_others == queue_.end()) of_others = entry;
  }
  return of_others;
}

void DevicePool::run(std::size_t index, DeviceExecutor& executor, std::optional<Entry>& entry) {
  const int failures_before = executor.runner().failures();
  const double busy_before_s = executor.runner().busy_s();
  Event outcome = executor.run(entry->job);
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    devices_[index].use.busy_s += executor.runner().busy_s() - busy_before_s;
    const bool cost_worker = executor.runner().failures() > failures_before;
    again = account(index, executor.runner(), *entry, cost_worker);
    if (again) queue_.push_front(std::move(*entry));
    entry.reset();
  }
  if (again) {
    changed_.notify_all();
  } else {
    events_.post(std::move(outcome));
  }
}

bool DevicePool::account(std::size_t index, const TrialRunner& runner, Entry& entry,
                         bool cost_worker) {
  Device& device = devices_[index];
  device.use.workers_replaced = runner.failures();
  device.use.duplicate_kernels = runner.duplicate_kernels();
  if (!cost_worker) device.lost_in_a_row = 0;
  if (cost_worker && entry.cost_worker_of) devices_[*entry.cost_worker_of].lost_in_a_row = 0;
  // A job whose worker could not be killed must not cost a second device.
  if (!cost_worker || entry.cost_worker_of || reserved_ == 1 || runner.is_stuck()) return false;
  entry.cost_worker_of = index;
  if (++device.lost_in_a_row == kLostInARow) {
    throw EnvironmentError(fmt::format("{} jobs in a row cost their worker", kLostInARow));
  }
  return true;
}

void DevicePool::fail(std::size_t index, std::optional<Entry> entry, const std::string& reason) {
  DeviceFailed failed;
  {
    const std::lock_guard lock(mutex_);
    Device& device = devices_[index];
    device.problems.clear();
    device.use.failure = reason;
    failed.device = device.use;
    if (device.reserved) --reserved_;
    if (--left_ == 0) failed.error = std::current_exception();
    if (entry) {
      entry->cost_worker_of.reset();
      queue_.push_front(std::move(*entry));
    }
    events_.post(std::move(failed));  // before a wait for the device ends
  }
  changed_.notify_all();
}

void DevicePool::stop_threads() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

}  // namespace autotune
