#include "core/thread_pool.hpp"

#include <atomic>
#include <new>
#include <vector>

#include <doctest/doctest.h>

using autotune::ThreadPool;

TEST_SUITE("ThreadPool") {
  TEST_CASE("every item is done once by a thread of the pool") {
    for (const std::size_t threads : {1U, 2U, 5U}) {
      ThreadPool pool(threads);
      CHECK(pool.size() == threads);
      for (const std::size_t items : {0U, 1U, 2U, 1000U}) {
        std::vector<int> done(items);
        std::atomic<int> strangers = 0;
        pool.for_each(items, [&](std::size_t item, std::size_t thread) {
          ++done[item];
          if (thread >= threads) ++strangers;
        });
        CHECK(done == std::vector<int>(items, 1));
        CHECK(strangers == 0);
      }
    }
  }

  TEST_CASE("no two threads work under the same number at once") {
    ThreadPool pool(4);
    std::vector<std::size_t> counts(4);  // not atomic: a race would be one of the pool's
    for (int batch = 0; batch < 200; ++batch) {
      pool.for_each(16, [&](std::size_t, std::size_t thread) { ++counts[thread]; });
    }
    CHECK(counts[0] + counts[1] + counts[2] + counts[3] == 200 * 16);
  }

  TEST_CASE("what an item throws comes out when the others are done, and the pool goes on") {
    for (const std::size_t threads : {1U, 4U}) {
      ThreadPool pool(threads);
      for (const std::size_t items : {1U, 100U}) {
        std::atomic<std::size_t> done = 0;
        CHECK_THROWS_AS(pool.for_each(items,
                                      [&](std::size_t item, std::size_t) {
                                        if (item == items / 2) throw std::bad_alloc();
                                        ++done;
                                      }),
                        std::bad_alloc);
        CHECK(done == items - 1);
        CHECK_NOTHROW(pool.for_each(items, [](std::size_t, std::size_t) {}));
      }
    }
  }

  TEST_CASE("a pool that never worked ends") {
    const ThreadPool pool(3);
  }
}
