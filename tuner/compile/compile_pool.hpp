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
  std::size_t id = 0;  // of the job
  std::variant<CompileReply, WorkerFailure> result;
};

// Thread-safe. The destructor drops jobs that have not begun and interrupts those that have.
class CompilePool {
 public:
  using Post = std::function<void(KernelBuilt)>;

  // The first jobs start the workers, in the threads that use them. No job may take longer than
  // `timeout`. Those threads call `post` for each job that has ended.
  CompilePool(const WorkerFactory& make_worker, int workers, std::chrono::milliseconds timeout,
              Post post);
  ~CompilePool();

  void submit(CompileJob job);

  // The time that all workers together have spent in calls.
  [[nodiscard]] double busy_s() const;
  // The number of workers that died or were killed.
  [[nodiscard]] int failures() const { return failures_; }

 private:
  void work(std::stop_token stop, const WorkerFactory& make_worker);
  KernelBuilt run(Worker& worker, CompileJob job, std::chrono::milliseconds timeout,
                  const std::stop_token& stop);

  Post post_;
  std::mutex mutex_;
  CompileTimeLimit time_limit_;
  std::condition_variable_any job_arrived_;
  std::deque<CompileJob> jobs_;
  std::atomic<std::int64_t> busy_ns_ = 0;
  std::atomic<int> failures_ = 0;
  std::vector<std::jthread> threads_;  // last: they are joined before the rest is destroyed
};

}  // namespace autotune
