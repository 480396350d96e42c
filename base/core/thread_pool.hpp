// Threads that share numbered pieces of work. One thread calls at a time, and works too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace autotune {

class ThreadPool {
 public:
  // Does one piece of work. `thread` is below size(); pieces that run at the same time have
  // different values of it.
  using Work = std::function<void(std::size_t item, std::size_t thread)>;

  explicit ThreadPool(std::size_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] std::size_t size() const { return threads_.size() + 1; }

  // Does items 0 .. items - 1 and returns when all are done. If items throw, the first exception is
  // thrown again when the others are done.
  void for_each(std::size_t items, const Work& work);

 private:
  void serve(std::size_t thread);
  void stop();
  void take_items(std::size_t thread);

  std::mutex mutex_;
  std::condition_variable started_, ended_;
  std::size_t batch_ = 0;  // counts calls of for_each
  std::size_t busy_ = 0;   // threads that have not finished the batch
  bool stopping_ = false;

  const Work* work_ = nullptr;  // of the batch
  std::size_t items_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;
};

}  // namespace autotune
