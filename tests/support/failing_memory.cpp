#include "tests/support/failing_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <new>

#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/error.hpp"

namespace {

constexpr long kNever = std::numeric_limits<long>::max();

// The number of allocations until the one that fails.
std::atomic<long> left = kNever;

bool fails() {
  return --left == 0;
}

sqlite3_mem_methods of_sqlite;

// SQLite asks for these functions before its first allocation.
const bool sqlite_is_prepared = [] {
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &of_sqlite);
  sqlite3_mem_methods methods = of_sqlite;
  methods.xMalloc = [](int bytes) { return fails() ? nullptr : of_sqlite.xMalloc(bytes); };
  methods.xRealloc = [](void* memory, int bytes) {
    return fails() ? nullptr : of_sqlite.xRealloc(memory, bytes);
  };
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK;
}();

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = fails() ? nullptr : std::malloc(std::max<std::size_t>(bytes, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// As std::stable_sort asks for memory; the address sanitizer's own would not go with delete.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return fails() ? nullptr : std::malloc(std::max<std::size_t>(bytes, 1));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace autotune::test {
namespace {

constexpr int kWrong = 1;
constexpr int kTerminated = 2;

// The exit code of a child in which the n-th allocation of `work` fails.
int run_with_failure(const std::function<void()>& work, long n) {
  std::fflush(nullptr);  // or the child would write this process's pending output as well
  const pid_t child = ::fork();
  if (child != 0) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::set_terminate([] { ::_exit(kTerminated); });
  try {
    left = n;
    work();
  } catch (const std::bad_alloc&) {
    ::_exit(0);
  } catch (const Error& error) {
    ::_exit(std::strchr(error.what(), '\n') == nullptr ? 0 : kWrong);
  } catch (...) {
    ::_exit(kWrong);
  }
  ::_exit(0);
}

}  // namespace

long count_allocations(const std::function<void()>& work) {
  left = kNever;
  work();
  return kNever - left.exchange(kNever);
}

void fail_each_allocation(const std::function<void()>& work, const std::function<void()>& check) {
  REQUIRE(sqlite_is_prepared);
  long count = 0;
  for (int run = 0; run < 2; ++run) {
    count = count_allocations(work);
    check();
  }
  const char* const most = std::getenv("AUTOTUNE_TEST_ALLOCATIONS");
  const long step = std::max(1L, count / std::max(1L, most != nullptr ? std::atol(most) : 100));
  int runs = 0;
  int terminated = 0;
  for (long n = 1; n <= count; n += step, ++runs) {
    CAPTURE(n);
    CAPTURE(count);
    const int code = run_with_failure(work, n);
    CHECK((code == 0 || code == kTerminated));
    if (code == kTerminated) ++terminated;
    check();
  }
  CHECK(5 * terminated <= runs);
  MESSAGE(runs << " of " << count << " allocations failed, " << terminated << " in a destructor");
}

}  // namespace autotune::test
