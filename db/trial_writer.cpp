#include "db/trial_writer.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "core/error_text.hpp"
#include "db/connection.hpp"

namespace autotune {
namespace {

constexpr std::chrono::milliseconds kDelay(100);

}  // namespace

TrialWriter::TrialWriter(TuningDatabase& database, RunInfo run)
    : database_(database),
      run_(std::move(run)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

TrialWriter::~TrialWriter() {
  thread_.request_stop();
  changed_.notify_all();
}

void TrialWriter::add(const TrialScope& scope, const Trial& trial, std::function<void()> settled) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({{scope, trial}, std::move(settled)});
  ++added_;
}

void TrialWriter::flush() {
  while (!flush_for(std::chrono::hours(1))) {
  }
}

bool TrialWriter::flush_for(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  const std::size_t target = added_;
  wanted_ = target;
  changed_.notify_all();
  return changed_.wait_for(lock, wait, [&] { return settled_ >= target; });
}

std::string TrialWriter::problem() const {
  const std::lock_guard lock(mutex_);
  if (lost_ == 0) return "";
  return fmt::format("{} ({} not stored)", problem_,
                     lost_ == 1 ? "1 trial was" : fmt::format("{} trials were", lost_));
}

void TrialWriter::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait_for(lock, stop, kDelay, [&] { return wanted_ > settled_; });
    if (waiting_.empty()) {
      if (stop.stop_requested()) return;
      continue;
    }
    const std::vector<Entry> batch = std::exchange(waiting_, {});
    lock.unlock();
    store(batch);
    for (const Entry& entry : batch) {
      if (entry.settled) entry.settled();
    }
    lock.lock();
    settled_ += batch.size();
    changed_.notify_all();
  }
}

// In the order in which they were made: how near the best a search is depends on it.
void TrialWriter::store(std::span<const Entry> batch) {
  const auto lose = [&](const std::exception& error) {
    const std::lock_guard lock(mutex_);
    problem_ = error_text(error);
    lost_ += batch.size();
  };
  try {
    std::vector<ScopedTrial> trials;
    for (const Entry& entry : batch) trials.push_back(entry.trial);
    database_.add_trials(run_, trials);
  } catch (const RefusedRow& error) {
    if (batch.size() == 1) return lose(error);
    for (const Entry& entry : batch) store({&entry, 1});
  } catch (const std::exception& error) {
    lose(error);
  }
}

}  // namespace autotune
