#include "tuner/compile/compile_pool.hpp"

#include <utility>

#include "core/error_text.hpp"
#include "core/start_thread.hpp"

namespace autotune {

using Clock = std::chrono::steady_clock;

namespace {

// The number of times that a kernel is compiled when something else stops the compiler.
constexpr int kMachineAttempts = 3;

}  // namespace

CompilePool::CompilePool(WorkerFactory make_worker, int workers, std::chrono::milliseconds timeout,
                         Post post)
    : make_worker_(std::move(make_worker)),
      most_workers_(static_cast<std::size_t>(workers)),
      post_(std::move(post)),
      time_limit_(timeout) {}

CompilePool::~CompilePool() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

void CompilePool::submit(CompileJob job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    if (jobs_.size() > idle_ && threads_.size() < most_workers_) {
      threads_.push_back(start_thread([this](std::stop_token stop) { work(std::move(stop)); }));
    }
  }
  job_arrived_.notify_one();
}

std::vector<std::size_t> CompilePool::drop_queued() {
  const std::lock_guard lock(mutex_);
  std::vector<std::size_t> dropped;
  for (const CompileJob& job : std::exchange(jobs_, {})) dropped.push_back(job.id);
  return dropped;
}

double CompilePool::busy_s() const {
  return static_cast<double>(busy_ns_) * 1e-9;
}

int CompilePool::workers() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(threads_.size());
}

void CompilePool::work(std::stop_token stop) {
  std::unique_ptr<Worker> worker;
  while (true) {
    CompileJob job;
    {
      std::unique_lock lock(mutex_);
      ++idle_;
      const bool has_job = job_arrived_.wait(lock, stop, [&] { return !jobs_.empty(); });
      --idle_;
      if (!has_job) return;
      if (stop.stop_requested()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    KernelBuilt built{job.id, WorkerFailure{}};
    try {
      if (!worker) worker = make_worker_();
      built = run(*worker, std::move(job), stop);
    } catch (const std::exception& error) {
      built.result = CompileReply{.problem = error_text(error)};  // there is too little memory
    }
    post_(std::move(built));
  }
}

KernelBuilt CompilePool::run(Worker& worker, CompileJob job, const std::stop_token& stop) {
  const std::stop_callback interrupting(stop, [&worker] { worker.interrupt(); });
  std::unique_lock lock(mutex_);
  const std::chrono::milliseconds timeout = time_limit_.limit();
  lock.unlock();
  const Clock::time_point start = Clock::now();
  KernelBuilt built{job.id, WorkerFailure{}};
  for (int attempt = 1; attempt <= kMachineAttempts && !stop.stop_requested(); ++attempt) {
    try {
      WorkerOutcome answer = worker.call(job.request, timeout);
      if (auto* failure = std::get_if<WorkerFailure>(&answer)) {
        ++failures_;
        built.result = std::move(*failure);
        break;
      }
      built.result = std::get<CompileReply>(std::get<WorkerReply>(std::move(answer)));
    } catch (const std::exception& error) {
      built.result = CompileReply{.problem = error_text(error)};  // no worker can be started
    }
    const auto& reply = std::get<CompileReply>(built.result);
    if (!reply.problem.empty()) continue;
    lock.lock();
    time_limit_.took(1e-3 * reply.resources.compile_ms);
    break;
  }
  busy_ns_ += std::chrono::nanoseconds(Clock::now() - start).count();
  return built;
}

}  // namespace autotune
