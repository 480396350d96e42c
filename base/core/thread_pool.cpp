#include "core/thread_pool.hpp"

#include <utility>

#include "core/start_thread.hpp"

namespace autotune {

ThreadPool::ThreadPool(std::size_t threads) {
  try {
    for (std::size_t i = 1; i < threads; ++i)
      threads_.push_back(start_thread([this, i] { serve(i); }));
  } catch (...) {
    stop();  // the threads that there are would wait for ever
    throw;
  }
}

ThreadPool::~ThreadPool() {
  stop();
}

void ThreadPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  started_.notify_all();
}

void ThreadPool::for_each(std::size_t items, const Work& work) {
  work_ = &work;
  items_ = items;
  next_ = 0;
  if (items > 1) {
    const std::lock_guard lock(mutex_);
    ++batch_;
    busy_ = threads_.size();
    started_.notify_all();
  }
  take_items(0);
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::serve(std::size_t thread) {
  std::size_t done = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      started_.wait(lock, [&] { return stopping_ || batch_ != done; });
      if (stopping_) return;
      done = batch_;
    }
    take_items(thread);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) ended_.notify_one();
  }
}

void ThreadPool::take_items(std::size_t thread) {
  for (std::size_t item = next_++; item < items_; item = next_++) {
    try {
      (*work_)(item, thread);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
}

}  // namespace autotune
