// What a warm call does besides its launch: neither a lock nor a system call. Allocations are
// counted in library_test.cpp. SQL and files cannot do without both.
#include <atomic>
#include <csignal>
#include <functional>

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/prctl.h>

#include "tests/app/api/fake_machine.hpp"

// The sanitizers take locks and make system calls of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace autotune::test {
namespace {

thread_local constinit bool counting = false;
thread_local constinit long locks = 0;

// The kernel reports this thread's system calls while it is 1 (Linux 5.11, Syscall User Dispatch).
thread_local constinit volatile char reporting = 0;
thread_local constinit volatile long system_calls = 0;

struct Counts {
  long locks = 0;
  long system_calls = 0;  // more than one count as one
};

bool operator==(const Counts& a, const Counts& b) {
  return a.locks == b.locks && a.system_calls == b.system_calls;
}

// Returns nothing where the kernel cannot count.
std::optional<Counts> counts_of(const std::function<void()>& work) {
  constexpr int kDispatch = 59, kOff = 0, kOn = 1;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {
    reporting = 0;  // the return from here is a system call too
    system_calls = system_calls + 1;
  };
  ::sigaction(SIGSYS, &action, &before);
  if (::prctl(kDispatch, kOn, 0, 0, &reporting) != 0) return std::nullopt;
  locks = 0;
  system_calls = 0;
  counting = true;
  reporting = 1;
  work();
  reporting = 0;
  counting = false;
  ::prctl(kDispatch, kOff, 0, 0, 0);
  ::sigaction(SIGSYS, &before, nullptr);
  return Counts{locks, system_calls};
}

const GemmProblem kSplit{.m = 64, .n = 64, .k = 65536};  // needs a workspace

TEST_SUITE("a warm call") {
  TEST_CASE("takes no lock and makes no system call") {
    std::mutex mutex;
    const auto something = counts_of([&] {
      const std::lock_guard lock(mutex);
      ::prctl(PR_GET_DUMPABLE);
    });
    if (!something) {
      MESSAGE("SKIPPED: the kernel cannot report system calls");
      return;
    }
    REQUIRE(*something == Counts{1, 1});

    const Machine machine;
    Machine::compile("gemm_simt", kSplit);
    Library library;
    const Plan plan = library.plan(kProblem, Alignment::of_16_bytes);
    for (const GemmProblem& problem : {kProblem, kSplit}) {
      CAPTURE(to_string(problem));
      const auto multiply = [&] { library.gemm(problem, 1, {kMemory}, {kMemory}, 0, {kResult}); };
      multiply();
      machine.application.stay_silent(true);
      CHECK(*counts_of([&] {
        for (int i = 0; i < 3; ++i) multiply();
      }) == Counts{});
      machine.application.stay_silent(false);
    }
    machine.application.stay_silent(true);
    CHECK(*counts_of([&] { plan(1, {kMemory}, {kMemory}, 0, {kResult}); }) == Counts{});
    machine.application.stay_silent(false);
  }
}

}  // namespace
}  // namespace autotune::test

// Takes the place of the C library's.
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static std::atomic<Lock> lock = nullptr;
  if (lock == nullptr) lock = reinterpret_cast<Lock>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  if (autotune::test::counting) ++autotune::test::locks;
  return lock.load()(mutex);
}

#endif
