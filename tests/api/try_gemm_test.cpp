// Library::try_gemm(): what is ready is done, and nothing else is begun.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/api/fake_machine.hpp"

namespace autotune::test {
namespace {

// A trial of a product, and the driver's calls during it.
struct Trial {
  Outcome outcome;
  std::string calls;

  Trial(const Machine& machine, Library& library, const GemmProblem& problem,
        const GemmArguments& call) {
    static_cast<void>(machine.application.take_calls());
    outcome = library.try_gemm(problem, call);
    calls = machine.application.take_calls();
  }
  [[nodiscard]] bool is_launched() const {
    return outcome == Outcome::done && has(calls, "cuLaunchKernelEx");
  }
  // Nothing was loaded, allocated or launched, and no context was made.
  [[nodiscard]] bool is_left(Outcome expected) const {
    return outcome == expected && !has(calls, "cuModuleLoad") && !has(calls, "cuMemAlloc") &&
           !has(calls, "cuLaunch") && !has(calls, "cuDevicePrimaryCtxRetain");
  }
};

TEST_SUITE("try_gemm()") {
  TEST_CASE("multiplies once gemm() or prepare() has made all that the product needs") {
    const Machine machine;
    Library library;
    CHECK(Trial(machine, library, kProblem, kCall).is_left(Outcome::not_ready));
    library.prepare(kProblem);
    CHECK(Trial(machine, library, kProblem, kCall).is_launched());
    GemmArguments elsewhere = kCall;
    elsewhere.stream = machine.application.stream(true);  // which is being captured
    CHECK(Trial(machine, library, kProblem, elsewhere).is_launched());
    machine.application.push_context(0, 1);
    CHECK(Trial(machine, library, kProblem, kCall).is_left(Outcome::not_ready));
    machine.application.pop_context();
  }

  TEST_CASE("waits for the memory of its stream, or uses the caller's") {
    const Machine machine;
    Machine::compile_both("gemm_simt", kDeep);
    Library library;
    CUstream_st* const stream = machine.application.stream(false);
    GemmArguments call = kCall;
    call.stream = stream;
    library.prepare(kDeep);
    CHECK(Trial(machine, library, kDeep, kCall).is_launched());
    CHECK(Trial(machine, library, kDeep, call).is_left(Outcome::not_ready));
    GemmArguments own = call;
    own.workspace = {kMemory, library.plan(kDeep).workspace_bytes()};
    CHECK(Trial(machine, library, kDeep, own).is_launched());
    --own.workspace.bytes;
    CHECK(Trial(machine, library, kDeep, own).is_left(Outcome::not_ready));
    machine.application.capture(stream, true);
    CHECK(Trial(machine, library, kDeep, call).is_left(Outcome::not_ready));
    machine.application.capture(stream, false);
    library.gemm(kDeep, call);
    CHECK(Trial(machine, library, kDeep, call).is_launched());
    machine.application.capture(stream, true);
    CHECK(Trial(machine, library, kDeep, call).is_launched());
    machine.application.capture(stream, false);
    library.release(stream);
    CHECK(Trial(machine, library, kDeep, call).is_left(Outcome::not_ready));
  }

  TEST_CASE("takes the kernel that needs no memory where gemm() has found none") {
    Machine machine;
    Machine::compile("gemm_simt", kDeep);
    Machine::compile("gemm_tiled", kDeep);
    Library library;
    machine.cuda.set_script("devices=2;cuMemAlloc:2");
    library.gemm(kDeep, kCall);
    CHECK(Trial(machine, library, kDeep, kCall).is_launched());
    GemmArguments own = kCall;
    own.workspace = {kMemory, 512};
    CHECK(Trial(machine, library, kDeep, own).is_launched());
  }

  TEST_CASE("scales C once the kernel for it is there") {
    const Machine machine;
    Machine::compile_scaling();
    Library library;
    GemmArguments call{.alpha = 0, .beta = 0.5F, .c = {kResult}};
    CHECK(Trial(machine, library, kProblem, call).is_left(Outcome::not_ready));
    library.gemm(kProblem, call);
    CHECK(Trial(machine, library, kProblem, call).is_launched());
    call.beta = 1;  // which leaves C as it is
    CHECK(Trial(machine, library, kProblem, call).is_left(Outcome::done));
    CHECK(Trial(machine, library, {0, 5, 6}, {}).is_left(Outcome::done));
  }

  TEST_CASE("remembers for a second what gemm() refused") {
    const Machine machine;
    LibraryOptions options;
    options.miss = MissPolicy::refuse;
    Library library(options);
    CHECK(Trial(machine, library, kProblem, kCall).is_left(Outcome::not_ready));
    CHECK_THROWS_AS(library.gemm(kProblem, kCall), NotTunedError);
    CHECK(Trial(machine, library, kProblem, kCall).is_left(Outcome::refused));
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    CHECK(Trial(machine, library, kProblem, kCall).is_left(Outcome::not_ready));
  }

  TEST_CASE("refuses the context of another GPU than the Library's") {
    const Machine machine;
    LibraryOptions options;
    options.device = Device::gpu(0);
    Library library(options);
    library.prepare(kProblem);
    machine.application.push_context(1, 0);
    CHECK(Trial(machine, library, kProblem, kCall).is_left(Outcome::refused));
    CHECK(
        Trial(machine, library, kProblem, {.alpha = 0, .c = {kResult}}).is_left(Outcome::refused));
    machine.application.pop_context();
    CHECK(Trial(machine, library, kProblem, kCall).is_launched());
  }

  TEST_CASE("is not kept from memory by other threads that look for theirs") {
    const Machine machine;
    Machine::compile_both("gemm_simt", kDeep);
    Library library;
    std::vector<CUstream_st*> streams;  // more than a thread remembers
    for (int i = 0; i < 12; ++i) {
      streams.push_back(machine.application.stream(false));
      library.prepare(kDeep, streams.back());
    }
    machine.application.stay_silent(true);
    std::atomic<int> undone = 0;
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&] {
        GemmArguments call = kCall;
        for (std::size_t i = 0; i < 20'000; ++i) {
          call.stream = streams[i % streams.size()];
          undone += library.try_gemm(kDeep, call) == Outcome::done ? 0 : 1;
        }
      });
    }
    threads.clear();
    machine.application.stay_silent(false);
    CHECK(undone == 0);
  }

  TEST_CASE("refuses what is wrong, and faults of the device") {
    Machine machine;
    Library library;
    library.prepare(kProblem);
    GemmArguments wrong = kCall;
    wrong.workspace = {kMemory + 1, 4096};
    CHECK(Trial(machine, library, kProblem, wrong).is_left(Outcome::refused));
    wrong = kCall;
    wrong.c = {kMemory};
    CHECK(Trial(machine, library, kProblem, wrong).is_left(Outcome::refused));
    machine.cuda.set_script("devices=2;cuLaunchKernelEx:700");
    CHECK(library.try_gemm(kProblem, kCall) == Outcome::refused);
    CHECK(machine.application.context_depth() == 0);
    const Library moved = std::move(library);
    CHECK(library.try_gemm(kProblem, kCall) == Outcome::refused);
  }
}

}  // namespace
}  // namespace autotune::test
