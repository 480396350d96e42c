#include "tuner/compile/compile_pool.hpp"

#include <utility>

#include "autotune/error.hpp"

namespace autotune {

using Clock = std::chrono::steady_clock;

CompilePool::CompilePool(const WorkerFactory& make_worker, int workers,
                         std::chrono::milliseconds timeout, std::function<void()> on_outcome)
    : on_outcome_(std::move(on_outcome)), time_limit_(timeout) {
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

std::optional<CompileOutcome> CompilePool::wait_until(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  if (!outcome_arrived_.wait_until(lock, deadline, [&] { return !outcomes_.empty(); })) {
    return std::nullopt;
  }
  CompileOutcome outcome = std::move(outcomes_.front());
  outcomes_.pop_front();
  return outcome;
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
    CompileOutcome outcome = run(*worker, std::move(job), timeout, stop);
    {
      const std::lock_guard lock(mutex_);
      if (const auto* reply = std::get_if<CompileReply>(&outcome.result)) {
        time_limit_.took(1e-3 * reply->resources.compile_ms);
      }
      outcomes_.push_back(std::move(outcome));
    }
    outcome_arrived_.notify_one();
    if (on_outcome_) on_outcome_();
  }
}

CompileOutcome CompilePool::run(Worker& worker, CompileJob job, std::chrono::milliseconds timeout,
                                const std::stop_token& stop) {
  const std::stop_callback interrupting(stop, [&worker] { worker.interrupt(); });
  const Clock::time_point start = Clock::now();
  CompileOutcome outcome{job.id, WorkerFailure{}};
  try {
    WorkerOutcome answer = worker.call(job.request, timeout);
    if (auto* failure = std::get_if<WorkerFailure>(&answer)) {
      ++failures_;
      outcome.result = std::move(*failure);
    } else {
      outcome.result = std::get<CompileReply>(std::get<WorkerReply>(std::move(answer)));
    }
  } catch (const std::exception& error) {
    ++failures_;
    outcome.result = WorkerFailure{WorkerFailure::Kind::died, error.what()};
  }
  busy_ns_ += std::chrono::nanoseconds(Clock::now() - start).count();
  return outcome;
}

}  // namespace autotune
