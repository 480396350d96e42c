#include "core/posix/no_fork.hpp"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

using autotune::NoFork;

namespace {

// Returns whether a child that calls the function ends by itself.
template <typename Function>
bool child_ends(Function function) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    function();
    ::_exit(0);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

TEST_SUITE("work that a child must not find half done") {
  TEST_CASE("a child never finds locked what other threads lock within it") {
    std::mutex mutex;
    std::atomic<bool> stop = false;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        while (!stop) {
          const NoFork until_done;
          const std::lock_guard lock(mutex);
          const NoFork within;
          ::usleep(100);
        }
      });
    }
    int stuck = 0;
    for (int i = 0; i < 100; ++i) {
      const bool ends = child_ends([&] {
        const NoFork until_done;
        const std::lock_guard lock(mutex);
      });
      if (!ends) ++stuck;
    }
    stop = true;
    CHECK(stuck == 0);
  }

  TEST_CASE("a thread that forks in the midst of its own work does not wait for itself") {
    const NoFork until_done;
    CHECK(child_ends([] {
      const NoFork within;
      if (!child_ends([] { const NoFork of_child; })) ::_exit(1);
    }));
  }
}
