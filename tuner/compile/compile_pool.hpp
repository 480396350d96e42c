// The compile workers: a queue of jobs and a thread for each worker.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "tuner/compile/time_limit.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {

struct CompileJob {
  std::size_t id = 0;
  CompileRequest request;
};

// A compile job has ended.
struct KernelBuilt {
  std::size_t id = 0;  // the job's number
  std::variant<CompileReply, WorkerFailure> result;
};

// Thread-safe. The destructor drops jobs that have not begun and interrupts those that have.
class CompilePool {
 public:
  using Post = std::function<void(KernelBuilt)>;

  // Up to `workers` jobs run at once. A job that finds no thread idle starts one, with a worker of
  // its own. No job may take longer than `timeout`. The threads call `post` for each job that has
  // ended.
  CompilePool(WorkerFactory make_worker, int workers, std::chrono::milliseconds timeout, Post post);
  ~CompilePool();

  void submit(CompileJob job);
  // Drops the jobs that have not begun, and returns their numbers.
  std::vector<std::size_t> drop_queued();

  // The time that all workers together have spent in calls.
  [[nodiscard]] double busy_s() const;
  // The number of workers that were started at the same time.
  [[nodiscard]] int workers() const;
  // The number of workers that died or were killed.
  [[nodiscard]] int failures() const { return failures_; }

 private:
  void work(std::stop_token stop);
  KernelBuilt run(Worker& worker, CompileJob job, const std::stop_token& stop);

  WorkerFactory make_worker_;
  std::size_t most_workers_;
  Post post_;
  mutable std::mutex mutex_;
  std::size_t idle_ = 0;  // threads that wait for a job
  CompileTimeLimit time_limit_;
  std::condition_variable_any job_arrived_;
  std::deque<CompileJob> jobs_;
  std::atomic<std::int64_t> busy_ns_ = 0;
  std::atomic<int> failures_ = 0;
  std::vector<std::jthread> threads_;  // last: they are joined before the rest is destroyed
};

}  // namespace autotune
