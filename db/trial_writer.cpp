#include "db/trial_writer.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

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
  std::unique_lock lock(mutex_);
  const std::size_t target = added_;
  wanted_ = target;
  changed_.notify_all();
  changed_.wait(lock, [&] { return settled_ >= target; });
}

std::string TrialWriter::problem() const {
  const std::lock_guard lock(mutex_);
  return lost_ == 0 ? "" : fmt::format("{} ({} trials were not stored)", problem_, lost_);
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
    commit(std::move(batch));
    lock.lock();
    settled_ += count;
    changed_.notify_all();
  }
}

void TrialWriter::commit(std::vector<Entry> batch) {
  // Trials of one scope go in together; a run has few scopes.
  while (!batch.empty()) {
    const TrialScope scope = batch.front().scope;
    std::vector<Trial> trials;
    std::vector<std::function<void()>> settled;
    std::vector<Entry> others;
    for (Entry& entry : batch) {
      if (same_scope(entry.scope, scope)) {
        trials.push_back(std::move(entry.trial));
        settled.push_back(std::move(entry.settled));
      } else {
        others.push_back(std::move(entry));
      }
    }
    batch = std::move(others);
    try {
      database_.add_trials(scope, run_, trials);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      problem_ = error.what();
      lost_ += trials.size();
    }
    for (const std::function<void()>& call : settled) {
      if (call) call();
    }
  }
}

}  // namespace autotune
