#include "core/thread_pool.hpp"

namespace autotune {

ThreadPool::ThreadPool(std::size_t threads) {
  for (std::size_t i = 1; i < threads; ++i) threads_.emplace_back([this, i] { serve(i); });
}

ThreadPool::~ThreadPool() {
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
  if (items < 2 || threads_.empty()) return take_items(0);
  {
    const std::lock_guard lock(mutex_);
    ++batch_;
    busy_ = threads_.size();
  }
  started_.notify_all();
  take_items(0);
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return busy_ == 0; });
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
  for (std::size_t item = next_++; item < items_; item = next_++) (*work_)(item, thread);
}

}  // namespace autotune
