#include "db/trial_writer.hpp"

#include <algorithm>
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
  add(ScopedTrial{scope, trial}, std::move(settled));
}

void TrialWriter::add(ResultRow row, std::function<void()> settled) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({std::move(row), std::move(settled)});
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
  if (lost_ == 0) return problem_;
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
    lost_ += static_cast<std::size_t>(std::ranges::count_if(
        batch, [](const Entry& entry) { return std::holds_alternative<ScopedTrial>(entry.row); }));
  };
  try {
    const bool is_whole = problem().empty();
    std::vector<ResultRow> rows;
    for (const Entry& entry : batch) {
      if (is_whole || !std::holds_alternative<CompletedRequest>(entry.row)) {
        rows.push_back(entry.row);
      }
    }
    database_.add_results(run_, rows);
  } catch (const RefusedRow& error) {
    if (batch.size() == 1) return lose(error);
    for (const Entry& entry : batch) store({&entry, 1});
  } catch (const std::exception& error) {
    lose(error);
  }
}

}  // namespace autotune
