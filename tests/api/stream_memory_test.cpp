// The memory that gemm() keeps for each stream, with a driver that logs the calls it gets.
#include <thread>

#include <doctest/doctest.h>

#include "tests/api/fake_machine.hpp"

namespace autotune::test {
namespace {

// Its kernel needs more memory, but not twice as much.
const GemmProblem kDeeper{.m = 128, .n = 64, .k = 65536};

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST_SUITE("memory of streams") {
  TEST_CASE("that of a thread's own stream is freed when the thread ends") {
    const Machine machine;
    Machine::compile("gemm_simt", kDeep);
    Library library;
    library.prepare(kDeep);
    for (int i = 0; i < 300; ++i) {
      static_cast<void>(machine.application.take_calls());
      std::thread([&] {
        library.gemm(kDeep, 1, {kMemory}, {kMemory}, 0, {kResult}, kPerThreadStream);
      }).join();
      const std::string calls = machine.application.take_calls();
      CHECK(count_of(calls, "cuMemAlloc") > 0);
      CHECK(count_of(calls, "cuMemAlloc") == count_of(calls, "cuMemFree"));
      CHECK(machine.application.context_depth() == 0);
    }
  }

  TEST_CASE("that of another stream is freed when the application says so") {
    const Machine machine;
    Machine::compile("gemm_simt", kDeep);
    Library library;
    CUstream_st* const stream = machine.application.stream(false);
    const auto calls_of_gemm = [&] {
      static_cast<void>(machine.application.take_calls());
      library.gemm(kDeep, 1, {kMemory}, {kMemory}, 0, {kResult}, stream);
      return machine.application.take_calls();
    };
    CHECK(has(calls_of_gemm(), "cuMemAlloc"));
    CHECK_FALSE(has(calls_of_gemm(), "cuMemAlloc"));
    library.release(nullptr);
    CHECK_FALSE(has(calls_of_gemm(), "cuMemAlloc"));
    library.release(stream);
    // Captures of other threads go on.
    CHECK(has(machine.application.take_calls(),
              "cuThreadExchangeStreamCaptureMode cuMemFree cuThreadExchangeStreamCaptureMode"));
    CHECK(has(calls_of_gemm(), "cuMemAlloc"));
  }

  TEST_CASE("that of each stream has a limit, beyond which a kernel without it is taken") {
    const Machine machine;
    for (const GemmProblem& problem : {kDeeper, kDeep}) {
      Machine::compile_both("gemm_simt", problem);
      Machine::compile_both("gemm_tiled", problem);
    }
    const auto bytes_of = [](const GemmProblem& problem) {
      return Library().plan(problem).workspace_bytes();
    };
    const std::size_t some = bytes_of(kDeep);
    const std::size_t most = bytes_of(kDeeper);
    REQUIRE(some < most);
    REQUIRE(2 * some > most);
    const auto run = [&](Library& library, const GemmProblem& problem) {
      static_cast<void>(machine.application.take_calls());
      const bool is_ready = library.try_gemm(problem, kCall) == Outcome::done;
      library.gemm(problem, kCall);
      CHECK(library.try_gemm(problem, kCall) == Outcome::done);
      CHECK_FALSE(is_ready);
      return has(machine.application.take_calls(), "cuMemAlloc");
    };
    const auto limited = [](std::size_t bytes) {
      LibraryOptions options;
      options.max_workspace_bytes = bytes;
      return Library(options);
    };
    Library enough = limited(most);
    CHECK(run(enough, kDeeper));
    CHECK_FALSE(run(enough, kDeep));  // it has the same memory
    Library full = limited(some + most - 1);
    CHECK(run(full, kDeep));
    CHECK_FALSE(run(full, kDeeper));
    Library exact = limited(some + most);
    CHECK(run(exact, kDeep));
    CHECK(run(exact, kDeeper));
    static_cast<void>(machine.application.take_calls());
    exact.trim(some + most);
    CHECK_FALSE(has(machine.application.take_calls(), "cuMemFree"));
    Library none = limited(0);
    none.prepare(kDeeper);
    GemmArguments captured = kCall;
    captured.stream = machine.application.stream(true);
    CHECK_NOTHROW(none.gemm(kDeeper, captured));
    CHECK(none.try_gemm(kDeeper, kCall) == Outcome::done);
    CHECK_FALSE(run(none, kDeep));
    CHECK(none.plan(kDeeper).workspace_bytes() == most);  // the caller's memory
  }

  TEST_CASE("that of all streams of a context is freed at once, the largest first") {
    const Machine machine;
    for (const GemmProblem& problem : {kDeeper, kDeep}) Machine::compile_both("gemm_simt", problem);
    Library library;
    CUstream_st* const first = machine.application.stream(false);
    CUstream_st* const second = machine.application.stream(false);
    const auto allocates = [&](const GemmProblem& problem, CUstream_st* stream) {
      GemmArguments call = kCall;
      call.stream = stream;
      static_cast<void>(machine.application.take_calls());
      library.gemm(problem, call);
      return has(machine.application.take_calls(), "cuMemAlloc");
    };
    const auto freed_by = [&](std::size_t keep_bytes) {
      static_cast<void>(machine.application.take_calls());
      library.trim(keep_bytes);
      return count_of(machine.application.take_calls(), "cuMemFree");
    };
    CHECK(freed_by(0) == 0);
    machine.application.push_context(0, 1);
    CHECK(allocates(kDeep, first));
    machine.application.pop_context();
    CHECK(allocates(kDeep, first));
    CHECK(allocates(kDeeper, second));
    CHECK(allocates(kDeep, kPerThreadStream));
    const std::size_t some = library.plan(kDeep).workspace_bytes();
    const std::size_t all = 2 * some + library.plan(kDeeper).workspace_bytes();
    CHECK(freed_by(all) == 0);
    CHECK(freed_by(all - 1) == 1);
    CHECK_FALSE(allocates(kDeep, first));
    CHECK_FALSE(allocates(kDeep, kPerThreadStream));
    CHECK(allocates(kDeeper, second));
    CHECK(freed_by(some) == 2);
    CHECK(freed_by(0) == 1);
    for (CUstream_st* const stream : {first, second, kPerThreadStream}) {
      CHECK(allocates(kDeep, stream));
    }
    machine.application.push_context(0, 1);
    CHECK_FALSE(allocates(kDeep, first));  // the memory of another context
    machine.application.pop_context();
  }

  TEST_CASE("is asked for again once that of others is freed") {
    Machine machine;
    for (const char* kernel : {"gemm_simt", "gemm_tiled"}) Machine::compile_both(kernel, kDeep);
    Library library;
    const auto allocates = [&] {
      static_cast<void>(machine.application.take_calls());
      library.gemm(kDeep, kCall);
      return has(machine.application.take_calls(), "cuMemAlloc");
    };
    machine.cuda.set_script("devices=2;cuMemAlloc:2");
    CHECK(allocates());
    CHECK_FALSE(allocates());
    machine.cuda.set_script("devices=2");
    library.trim();
    CHECK(allocates());
    CHECK_FALSE(allocates());
  }
}

}  // namespace
}  // namespace autotune::test
