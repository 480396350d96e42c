// Compile workers ahead of the measuring one: a queue of jobs, and as many threads as workers, each
// with a worker of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tuner/compile/time_limit.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {

struct CompileJob {
  std::size_t id = 0;
  CompileRequest request;
};

struct CompileOutcome {
  std::size_t id = 0;
  std::variant<CompileReply, WorkerFailure> result;
};

// Thread-safe. The destructor drops jobs that have not begun and interrupts those that have.
class CompilePool {
 public:
  // Workers are made by the first jobs, in the threads that use them. `timeout`: the longest that
  // one job may take, whatever others took. `on_outcome` is called in those threads for each
  // outcome that can be had.
  CompilePool(const WorkerFactory& make_worker, int workers, std::chrono::milliseconds timeout,
              std::function<void()> on_outcome = {});
  ~CompilePool();

  void submit(CompileJob job);
  // The next outcome, in order of completion; nullopt when none came before the deadline.
  std::optional<CompileOutcome> wait_until(std::chrono::steady_clock::time_point deadline);

  // Time spent in calls, summed over the workers.
  [[nodiscard]] double busy_s() const;
  // Workers that died or were killed.
  [[nodiscard]] int failures() const { return failures_; }

 private:
  void work(std::stop_token stop, const WorkerFactory& make_worker);
  CompileOutcome run(Worker& worker, CompileJob job, std::chrono::milliseconds timeout,
                     const std::stop_token& stop);

  std::function<void()> on_outcome_;
  std::mutex mutex_;
  CompileTimeLimit time_limit_;
  std::condition_variable_any job_arrived_;
  std::condition_variable outcome_arrived_;
  std::deque<CompileJob> jobs_;
  std::deque<CompileOutcome> outcomes_;
  std::atomic<std::int64_t> busy_ns_ = 0;
  std::atomic<int> failures_ = 0;
  std::vector<std::jthread> threads_;  // last: joined before the rest goes
};

}  // namespace autotune
