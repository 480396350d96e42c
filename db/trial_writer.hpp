// Stores what a run finds while the tuner goes on measuring.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "db/tuning_database.hpp"

namespace autotune {

// A separate thread commits results at most 100 ms after they arrived, all that have arrived in one
// transaction: a slow disk takes the same time for one row and for many. Thread-safe.
class TrialWriter {
 public:
  // `database` outlives the writer.
  TrialWriter(TuningDatabase& database, RunInfo run);
  // Stores the remaining results.
  ~TrialWriter();
  TrialWriter(const TrialWriter&) = delete;
  TrialWriter& operator=(const TrialWriter&) = delete;

  // Never waits for the disk. `settled` is called in the writer's thread once the trial is stored,
  // or could not be.
  void add(const TrialScope& scope, const Trial& trial, std::function<void()> settled = {});
  // The same for other results. That a request is completed is not stored after a result was lost.
  void add(ResultRow row, std::function<void()> settled = {});
  // Returns once everything added so far is stored, or could not be.
  void flush();
  // Like flush(), but returns false if that takes longer than `wait`.
  [[nodiscard]] bool flush_for(std::chrono::milliseconds wait);
  // Returns the reason why results could not be stored, with the number of trials; empty when all
  // were stored.
  [[nodiscard]] std::string problem() const;

 private:
  struct Entry {
    ResultRow row;
    std::function<void()> settled;
  };
  void work(const std::stop_token& stop);
  void store(std::span<const Entry> batch);

  TuningDatabase& database_;
  RunInfo run_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Entry> waiting_;
  std::size_t added_ = 0;    // results, since the beginning
  std::size_t settled_ = 0;  // of those, stored or lost
  std::size_t wanted_ = 0;   // how many a flush() waits for
  std::string problem_;
  std::size_t lost_ = 0;  // trials
  std::jthread thread_;   // last: joined before the rest goes
};

}  // namespace autotune
