#include "db/trial_writer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "core/error_text.hpp"
#include "db/connection.hpp"

namespace autotune {
namespace {

constexpr std::chrono::milliseconds kDelay(100);

bool same_scope(const TrialScope& a, const TrialScope& b) {
  return a.device_class == b.device_class && a.template_name == b.template_name &&
         a.space_version == b.space_version && a.source_hash == b.source_hash &&
         a.environment == b.environment;
}

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
  waiting_.push_back({scope, trial, std::move(settled)});
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
    std::vector<Entry> batch = std::exchange(waiting_, {});
    const std::size_t count = batch.size();
    lock.unlock();
    commit(batch);
    lock.lock();
    settled_ += count;
    changed_.notify_all();
  }
}

void TrialWriter::commit(std::span<Entry> batch) {
  // Trials of one scope go in together; a run has few scopes.
  while (!batch.empty()) {
    const auto others = std::stable_partition(batch.begin(), batch.end(), [&](const Entry& entry) {
      return same_scope(entry.scope, batch.front().scope);
    });
    const auto count = static_cast<std::size_t>(others - batch.begin());
    store(batch.first(count));
    for (const Entry& entry : batch.first(count)) {
      if (entry.settled) entry.settled();
    }
    batch = batch.subspan(count);
  }
}

void TrialWriter::store(std::span<const Entry> entries) {
  const auto lose = [&](const std::exception& error) {
    const std::lock_guard lock(mutex_);
    problem_ = error_text(error);
    lost_ += entries.size();
  };
  try {
    std::vector<Trial> trials;
    for (const Entry& entry : entries) trials.push_back(entry.trial);
    database_.add_trials(entries.front().scope, run_, trials);
  } catch (const RefusedRow& error) {
    if (entries.size() == 1) return lose(error);
    for (const Entry& entry : entries) store({&entry, 1});
  } catch (const std::exception& error) {
    lose(error);
  }
}

}  // namespace autotune
