// A warm call allocates nothing, takes no lock and makes no system call besides its launch. SQL and
// files cannot do without these, so that they are counted too.
#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>

#include "tests/api/empty_kernels.hpp"
#include "tests/api/fake_machine.hpp"
#include "tests/support/failing_memory.hpp"

// The sanitizers take locks and make system calls of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace autotune::test {
namespace {

thread_local constinit bool counting = false;
thread_local constinit long locks = 0;
thread_local constinit long exceptions = 0;

// The kernel reports this thread's system calls while it is 1 (Linux 5.11, Syscall User Dispatch).
thread_local constinit volatile char reporting = 0;
thread_local constinit volatile long system_calls = 0;

struct Counts {
  long allocations = 0;
  long locks = 0;
  long system_calls = 0;  // more than one count as one
  long exceptions = 0;

  bool operator==(const Counts&) const = default;
};

doctest::String toString(const Counts& counts) {
  const auto text = std::to_string(counts.allocations) + " allocations, " +
                    std::to_string(counts.locks) + " locks, " +
                    std::to_string(counts.system_calls) + " system calls, " +
                    std::to_string(counts.exceptions) + " exceptions";
  return text.c_str();
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
  exceptions = 0;
  system_calls = 0;
  const long allocations = count_allocations([&] {
    counting = true;
    reporting = 1;
    work();
    reporting = 0;
    counting = false;
  });
  ::prctl(kDispatch, kOff, 0, 0, 0);
  ::sigaction(SIGSYS, &before, nullptr);
  return Counts{allocations, locks, system_calls, exceptions};
}

// Returns false, and says why, where the kernel cannot count.
bool can_count() {
  std::mutex mutex;
  std::shared_mutex shared;
  std::once_flag once;
  sem_t semaphore;
  ::sem_init(&semaphore, 0, 1);
  const auto something = counts_of([&] {
    mutex.lock();
    mutex.unlock();
    static_cast<void>(mutex.try_lock());
    mutex.unlock();
    shared.lock();
    shared.unlock();
    static_cast<void>(shared.try_lock());
    shared.unlock();
    shared.lock_shared();
    shared.unlock_shared();
    static_cast<void>(shared.try_lock_shared());
    shared.unlock_shared();
    std::call_once(once, [] {});
    ::sem_wait(&semaphore);
    const auto allocated = std::make_unique<std::string>(1000, ' ');
    ::prctl(PR_GET_DUMPABLE);
  });
  ::sem_destroy(&semaphore);
  if (something) REQUIRE(*something == Counts{2, 8, 1, 0});
  const auto thrown = counts_of([] {
    try {
      throw 1;
    } catch (int) {
    }
  });
  if (thrown) REQUIRE(thrown->exceptions == 1);
  if (!something) MESSAGE("SKIPPED: the kernel cannot report system calls");
  return something.has_value();
}

// Makes a call, and counts what three more of it do.
Counts counts_of_warm(const Machine& machine, const std::function<void()>& call) {
  call();
  machine.application.stay_silent(true);
  const std::optional<Counts> counts = counts_of([&] {
    for (int i = 0; i < 3; ++i) call();
  });
  machine.application.stay_silent(false);
  return counts.value();
}

TEST_SUITE("a warm call") {
  TEST_CASE("allocates nothing, takes no lock and makes no system call") {
    if (!can_count()) return;
    const GemmProblem large{.m = 1600, .n = 1604, .k = 1600};
    GemmProblem batch = kProblem;
    batch.batch = 7;
    GemmProblem large_batch = large;
    large_batch.batch = 3;
    const Machine machine;
    Machine::compile("gemm_simt", kDeep);
    Machine::compile("gemm_simt", batch);
    Machine::compile("gemm_tma", large);
    Machine::compile("gemm_tma", large_batch);
    Library library;
    REQUIRE(library.query(large_batch).template_name == "gemm_tma");
    CUstream_st* const stream = machine.application.stream(false);
    for (const GemmProblem& problem : {kProblem, kDeep, batch, large, large_batch}) {
      CAPTURE(to_string(problem));
      const Plan plan = library.plan(problem, Alignment::of_16_bytes);
      const std::int64_t c_stride = problem.m * problem.n;
      int undone = 0;
      std::int64_t moved = 0;  // each call has its operands elsewhere
      const auto multiply_on = [&](CUstream_st* where) {
        moved += 4;
        library.gemm(problem, 1, {kMemory + moved, 0, moved}, {kMemory, 0, 0}, 0,
                     {kResult + moved, 0, c_stride}, where);
      };
      CHECK(counts_of_warm(machine, [&] { multiply_on(nullptr); }) == Counts{});
      CHECK(
          counts_of_warm(machine, [&] {
            moved += 4;
            const GemmArguments call{
                1, {kMemory + moved, 0, moved}, {kMemory, 0, 0}, 0, {kResult + moved, 0, c_stride}};
            undone += library.try_gemm(problem, call) == Outcome::done ? 0 : 1;
          }) == Counts{});
      CHECK(counts_of_warm(machine, [&] {
              multiply_on(kPerThreadStream);
              multiply_on(stream);
              multiply_on(nullptr);
            }) == Counts{});
      CHECK(counts_of_warm(machine, [&] {
              moved += 4;
              plan(1, {kMemory, 0, moved}, {kMemory + moved, 0, 0}, 0, {kResult, 0, c_stride},
                   kPerThreadStream, {kMemory, plan.workspace_bytes()});
            }) == Counts{});
      CHECK(undone == 0);
    }
  }

  TEST_CASE("that is refused again throws nothing inside of try_gemm()") {
    if (!can_count()) return;
    const Machine machine;
    LibraryOptions options;
    options.miss = MissPolicy::refuse;
    Library library(options);
    const GemmArguments call{.a = {kMemory}, .b = {kMemory}, .c = {kResult}};
    CHECK_THROWS_AS(library.gemm(kProblem, call), NotTunedError);
    Outcome outcome = Outcome::done;
    const auto refuse = [&] { outcome = library.try_gemm(kProblem, call); };
    CHECK(counts_of_warm(machine, refuse) == Counts{.locks = 3});
    CHECK(outcome == Outcome::refused);
  }

  TEST_CASE("with prepared operands, too") {
    const std::optional<std::string> image = empty_kernels();
    if (!image || !can_count()) return;
    const Machine machine;
    store_kernels(*image, kEmulated);
    Library library;
    const PreparedMatrix weights = library.prepare_operand(kEmulated, Operand::b, {kWeights});
    const Plan plan = library.plan(kEmulated, Alignment::of_16_bytes);
    std::int64_t moved = 0;
    CHECK(counts_of_warm(machine, [&] {
            moved += 64;
            library.gemm(kEmulated, 1, {kMemory + moved}, {kWeights, 0, 0, &weights}, 0, {kResult});
            plan(1, {kMemory + moved}, {kWeights, 0, 0, &weights}, 0, {kResult}, nullptr,
                 {kMemory, plan.workspace_bytes()});
          }) == Counts{});
  }
}

// Counts a call of the C library's function that this one takes the place of. A wait for a
// condition needs none: it holds a mutex.
template <typename... Arguments>
int counted(long& count, std::atomic<int (*)(Arguments...)>& next, const char* name,
            Arguments... arguments) {
  if (next == nullptr) next = reinterpret_cast<int (*)(Arguments...)>(::dlsym(RTLD_NEXT, name));
  if (counting) ++count;
  return next.load()(arguments...);
}

}  // namespace
}  // namespace autotune::test

#define AUTOTUNE_COUNTED(count, name, Type)                                     \
  extern "C" int name(Type object) {                                            \
    static constinit std::atomic<int (*)(Type)> next = nullptr;                 \
    return autotune::test::counted(autotune::test::count, next, #name, object); \
  }
#ifndef AUTOTUNE_PORTABLE  // libgcc is a part of the program there
AUTOTUNE_COUNTED(exceptions, _Unwind_RaiseException, void*)
#endif
AUTOTUNE_COUNTED(locks, pthread_mutex_lock, pthread_mutex_t*)
AUTOTUNE_COUNTED(locks, pthread_mutex_trylock, pthread_mutex_t*)
AUTOTUNE_COUNTED(locks, pthread_rwlock_rdlock, pthread_rwlock_t*)
AUTOTUNE_COUNTED(locks, pthread_rwlock_tryrdlock, pthread_rwlock_t*)
AUTOTUNE_COUNTED(locks, pthread_rwlock_wrlock, pthread_rwlock_t*)
AUTOTUNE_COUNTED(locks, pthread_rwlock_trywrlock, pthread_rwlock_t*)
AUTOTUNE_COUNTED(locks, sem_wait, sem_t*)
#undef AUTOTUNE_COUNTED
extern "C" int pthread_once(pthread_once_t* once, void (*function)()) {
  static constinit std::atomic<int (*)(pthread_once_t*, void (*)())> next = nullptr;
  return autotune::test::counted(autotune::test::locks, next, "pthread_once", once, function);
}

#endif
