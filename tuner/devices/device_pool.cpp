#include "tuner/devices/device_pool.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

// The owner looks that often whether it was asked to stop.
constexpr std::chrono::milliseconds kBetweenLooks(100);

// A device that costs so many workers in a row, with jobs that others have no trouble with, is out.
constexpr int kLostInARow = 20;

std::chrono::steady_clock::time_point next_look() {
  return std::chrono::steady_clock::now() + kBetweenLooks;
}

}  // namespace

DevicePool::DevicePool(const std::vector<MeasuringDevice>& devices,
                       std::chrono::milliseconds allowance, WakeUp& wake_up, FailureSink on_failure)
    : wake_up_(wake_up), on_failure_(std::move(on_failure)), left_(devices.size()) {
  for (const MeasuringDevice& device : devices) {
    devices_.push_back({.device = device, .use = {.device = device.info}});
  }
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    threads_.emplace_back(
        [this, i, allowance](const std::stop_token& stop) { work(stop, i, allowance); });
  }
}

DevicePool::~DevicePool() {
  stop_threads();
}

bool DevicePool::wait_for_device(const std::stop_token& stop) {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (reserved_ > 0 || left_ == 0) return true;
    }
    if (stop.stop_requested()) return false;
    wake_up_.wait_until(next_look());
  }
}

void DevicePool::submit(DeviceJob job) {
  ++open_;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(job), std::nullopt});
  }
  changed_.notify_all();
}

bool DevicePool::drain_one() {
  tell_failures();
  DeviceJob job;
  {
    const std::lock_guard lock(mutex_);
    if (finished_.empty()) {
      if (left_ == 0) std::rethrow_exception(last_error_);
      return false;
    }
    job = std::move(finished_.front());
    finished_.pop_front();
  }
  --open_;
  job.done();
  return true;
}

void DevicePool::drain_all() {
  while (open_ > 0) {
    if (!drain_one()) wake_up_.wait_until(next_look());
  }
}

void DevicePool::drop_queued() {
  const std::lock_guard lock(mutex_);
  open_ -= queue_.size();
  queue_.clear();
}

void DevicePool::close() {
  drop_queued();
  stop_threads();
  tell_failures();
}

std::vector<DeviceUse> DevicePool::use() {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceUse> all;
  for (const Bench& bench : devices_) all.push_back(bench.use);
  return all;
}

void DevicePool::work(const std::stop_token& stop, std::size_t index,
                      std::chrono::milliseconds allowance) {
  const MeasuringDevice& device = devices_[index].device;
  const std::shared_ptr<void> reservation = device.reserve ? device.reserve(stop) : nullptr;
  if (stop.stop_requested()) return;
  {
    const std::lock_guard lock(mutex_);
    ++reserved_;
  }
  announce();

  std::optional<Entry> entry;
  try {
    TrialRunner runner(device.make_worker, allowance);
    if (devices_.size() > 1) runner.calibrate();  // or one that cannot be opened takes jobs first
    while ((entry = take(stop, index))) run(index, runner, entry);
  } catch (const std::exception& error) {
    fail(index, std::move(entry), error.what());
  }
}

std::optional<DevicePool::Entry> DevicePool::take(const std::stop_token& stop, std::size_t index) {
  std::unique_lock lock(mutex_);
  std::deque<Entry>::iterator found;
  changed_.wait(lock, stop, [&] { return (found = choose(index)) != queue_.end(); });
  if (stop.stop_requested()) return std::nullopt;
  Entry entry = std::move(*found);
  queue_.erase(found);
  std::vector<Problem>& problems = devices_[index].problems;
  if (std::find(problems.begin(), problems.end(), entry.job.problem) == problems.end()) {
    problems.push_back(entry.job.problem);
  }
  return entry;
}

// Setting up a problem's operands takes time: a bench leaves problems that others have set up to
// them as long as it has others to do.
std::deque<DevicePool::Entry>::iterator DevicePool::choose(std::size_t index) {
  const auto has_set_up = [](const Bench& bench, const Problem& problem) {
    return std::find(bench.problems.begin(), bench.problems.end(), problem) != bench.problems.end();
  };
  auto of_others = queue_.end();
  for (auto entry = queue_.begin(); entry != queue_.end(); ++entry) {
    if (entry->cost_worker_of == index && reserved_ > 1) continue;
    const Problem& problem = entry->job.problem;
    if (has_set_up(devices_[index], problem) ||
        std::none_of(devices_.begin(), devices_.end(),
                     [&](const Bench& bench) { return has_set_up(bench, problem); })) {
      return entry;
    }
    if (of_others == queue_.end()) of_others = entry;
  }
  return of_others;
}

void DevicePool::run(std::size_t index, TrialRunner& runner, std::optional<Entry>& entry) {
  const int failures_before = runner.failures();
  const double busy_before_s = runner.busy_s();
  entry->job.run(runner);
  {
    const std::lock_guard lock(mutex_);
    Bench& bench = devices_[index];
    bench.use.busy_s += runner.busy_s() - busy_before_s;
    bench.use.workers_replaced = runner.failures();
    bench.use.duplicate_kernels = runner.duplicate_kernels();
    const bool cost_worker = runner.failures() > failures_before;
    if (!cost_worker) bench.lost_in_a_row = 0;
    if (cost_worker && entry->cost_worker_of) devices_[*entry->cost_worker_of].lost_in_a_row = 0;
    // What took a device with it is not tried on another.
    if (cost_worker && !entry->cost_worker_of && reserved_ > 1 && !runner.is_stuck()) {
      entry->cost_worker_of = index;
      if (++bench.lost_in_a_row == kLostInARow) {
        throw EnvironmentError(fmt::format("{} jobs in a row cost their worker", kLostInARow));
      }
      queue_.push_front(std::move(*entry));
    } else {
      finished_.push_back(std::move(entry->job));
    }
    entry.reset();
  }
  announce();
}

void DevicePool::fail(std::size_t index, std::optional<Entry> entry, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    Bench& bench = devices_[index];
    bench.problems.clear();
    bench.use.failure = reason;
    --reserved_;
    if (--left_ == 0) {
      last_error_ = std::current_exception();
    } else {
      failed_.push_back(bench.use);
    }
    if (entry) {
      entry->cost_worker_of.reset();
      queue_.push_front(std::move(*entry));
    }
  }
  announce();
}

void DevicePool::tell_failures() {
  std::deque<DeviceUse> failed;
  {
    const std::lock_guard lock(mutex_);
    failed.swap(failed_);
  }
  for (const DeviceUse& use : failed) on_failure_(use);
}

void DevicePool::stop_threads() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void DevicePool::announce() {
  changed_.notify_all();
  wake_up_.raise();
}

}  // namespace autotune
