#include "tuner/compile/compile_pool.hpp"

#include <utility>

#include "autotune/error.hpp"

namespace autotune {

using Clock = std::chrono::steady_clock;

CompilePool::CompilePool(const WorkerFactory& make_worker, int workers,
                         std::chrono::milliseconds timeout, Post post)
    : post_(std::move(post)), time_limit_(timeout) {
  for (int i = 0; i < workers; ++i) {
    threads_.emplace_back(
        [this, make_worker](std::stop_token stop) { work(std::move(stop), make_worker); });
  }
}

CompilePool::~CompilePool() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

void CompilePool::submit(CompileJob job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  job_arrived_.notify_one();
}

double CompilePool::busy_s() const {
  return static_cast<double>(busy_ns_) * 1e-9;
}

void CompilePool::work(std::stop_token stop, const WorkerFactory& make_worker) {
  std::unique_ptr<Worker> worker;
  while (true) {
    CompileJob job;
    std::chrono::milliseconds timeout;
    {
      std::unique_lock lock(mutex_);
      if (!job_arrived_.wait(lock, stop, [&] { return !jobs_.empty(); })) return;
      if (stop.stop_requested()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
      timeout = time_limit_.limit();
    }
    if (!worker) worker = make_worker();
    KernelBuilt built = run(*worker, std::move(job), timeout, stop);
    if (const auto* reply = std::get_if<CompileReply>(&built.result)) {
      const std::lock_guard lock(mutex_);
      time_limit_.took(1e-3 * reply->resources.compile_ms);
    }
    post_(std::move(built));
  }
}

KernelBuilt CompilePool::run(Worker& worker, CompileJob job, std::chrono::milliseconds timeout,
                             const std::stop_token& stop) {
  const std::stop_callback interrupting(stop, [&worker] { worker.interrupt(); });
  const Clock::time_point start = Clock::now();
  KernelBuilt built{job.id, WorkerFailure{}};
  try {
    WorkerOutcome answer = worker.call(job.request, timeout);
    if (auto* failure = std::get_if<WorkerFailure>(&answer)) {
      ++failures_;
      built.result = std::move(*failure);
    } else {
      built.result = std::get<CompileReply>(std::get<WorkerReply>(std::move(answer)));
    }
  } catch (const std::exception& error) {
    ++failures_;
    built.result = WorkerFailure{WorkerFailure::Kind::died, error.what()};
  }
  busy_ns_ += std::chrono::nanoseconds(Clock::now() - start).count();
  return built;
}

}  // namespace autotune
