// A Library and its plans on a machine with two GPUs, with a driver that logs the calls it gets.
#include <vector>

#include <doctest/doctest.h>

#include "tests/api/fake_machine.hpp"
#include "tests/support/failing_memory.hpp"

namespace autotune::test {
namespace {

Workspace workspace_of(const Plan& plan) {
  return {reinterpret_cast<void*>(std::uintptr_t{1} << 20), plan.workspace_bytes()};
}

TEST_SUITE("Library") {
  TEST_CASE("it works on the current GPU, each with kernels of its own") {
    const Machine machine;
    Library library;
    for (const int device : {1, 0}) {
      machine.application.push_context(device, 0);
      CHECK(has(machine.calls_of(library), "cuModuleLoadData"));
      CHECK_FALSE(has(machine.calls_of(library), "cuModuleLoadData"));
      machine.application.pop_context();
    }
  }

  TEST_CASE("products without anything to multiply need no kernel, and A and B may be null") {
    const Machine machine;
    Library library;
    const auto calls = [&](const GemmProblem& problem, float alpha, float beta) {
      static_cast<void>(machine.application.take_calls());
      CHECK(library.gemm(problem, alpha, {}, {}, beta, {kResult}) == MatchKind::exact);
      return machine.application.take_calls();
    };
    for (const GemmProblem& empty : {GemmProblem{0, 5, 6}, GemmProblem{5, 0, 6}}) {
      CHECK(calls(empty, 1, 0) == "");
      CHECK(library.gemm(empty, 1, {}, {}, 0, {}) == MatchKind::exact);
    }
    for (const GemmProblem& shallow : {GemmProblem{5, 6, 0}, kProblem}) {
      const float alpha = shallow.k == 0 ? 1 : 0;
      CHECK_FALSE(has(calls(shallow, alpha, 1), "cuLaunchKernelEx"));
    }
    // Nobody has compiled that kernel.
    CHECK_THROWS_AS(library.gemm(kProblem, 0, {}, {}, 0.5f, {kResult}), EnvironmentError);
    machine.compile_scaling();
    CHECK(has(calls(kProblem, 0, 0.5f), "cuLaunchKernelEx"));
    CHECK(has(calls({5, 6, 0}, 1, -1), "cuLaunchKernelEx"));
  }

  TEST_CASE("beta = 0 sets C to zero, and what lies between its rows stays") {
    const Machine machine;
    Library library;
    std::vector<float> c(3 * 5 + 1, 7);  // with the fake driver, device memory is the host's
    library.gemm({3, 4, 0}, 1, {}, {}, 0, {c.data(), 5});
    CHECK(c == std::vector<float>{0, 0, 0, 0, 7, 0, 0, 0, 0, 7, 0, 0, 0, 0, 7, 7});
    library.gemm({2, 3, 9, Transpose::none, Transpose::none, Math::strict, Order::column_major}, 0,
                 {}, {}, 0, {c.data() + 4, 5});
    CHECK(c[4] == 0);
    CHECK(c[5] == 0);
    CHECK(c[14] == 0);
    CHECK(c[15] == 0);
  }

  TEST_CASE("a column-major product is the row-major one with its operands exchanged") {
    const Machine machine;
    Library library;
    const GemmProblem columns{kProblem.n,      kProblem.m,   kProblem.k,         Transpose::none,
                              Transpose::none, Math::strict, Order::column_major};
    library.prepare(kProblem);
    static_cast<void>(machine.application.take_calls());
    library.gemm(columns, 1, {kMemory, 48}, {kMemory, 32}, 0, {kResult, 48});
    CHECK_FALSE(has(machine.application.take_calls(), "cuModuleLoadData"));
    CHECK(library.query(columns).configuration == library.query(kProblem).configuration);
  }

  TEST_CASE("a warm call allocates nothing, and asks the driver for no more than the launch") {
    const Machine machine;
    Machine::compile("gemm_simt", kDeep);
    Library library;
    library.prepare(kDeep);
    library.prepare(kProblem);
    const Plan plan = library.plan(kProblem, Alignment::of_16_bytes);
    const auto count = [&](const auto& call) {
      call();
      machine.application.stay_silent(true);
      const long allocations = count_allocations([&] {
        for (int i = 0; i < 3; ++i) call();
      });
      machine.application.stay_silent(false);
      return allocations;
    };
    CHECK(count([&] { library.gemm(kProblem, 1, {kMemory}, {kMemory}, 0, {kResult}); }) == 0);
    CHECK(count([&] { library.gemm(kDeep, 1, {kMemory}, {kMemory}, 0, {kResult}); }) == 0);
    CHECK(count([&] { plan(1, {kMemory}, {kMemory}, 0, {kResult}); }) == 0);
  }

  TEST_CASE("the driver's code comes with the error") {
    Machine machine;
    Library library;
    const auto error_of = [&](const std::string& script) {
      machine.cuda.set_script("devices=2;" + script);
      try {
        library.gemm(kProblem, 1, {kMemory}, {kMemory}, 0, {kResult});
      } catch (const Error& error) {
        return std::pair(error.code(), error.cuda_result());
      }
      return std::pair(ErrorCode::internal, 0);
    };
    CHECK(error_of("cuModuleLoadData:2") == std::pair(ErrorCode::no_memory, 2));
    CHECK(error_of("cuLaunchKernelEx:700") == std::pair(ErrorCode::device, 700));
    CHECK(UsageError("").code() == ErrorCode::usage);
    CHECK(EnvironmentError("").code() == ErrorCode::environment);
    CHECK(StorageError("").code() == ErrorCode::storage);
  }

  TEST_CASE("the policy on a miss") {
    const Machine machine;
    Library strict({.miss = MissPolicy::refuse});
    try {
      strict.prepare(kProblem);
      FAIL("an untuned product was not refused");
    } catch (const NotTunedError& error) {
      CHECK(error.code() == ErrorCode::not_tuned);
      CHECK(std::string(error.what()) == "64x48x32 was not tuned for NVIDIA H200");
    }
    CHECK(strict.query(kProblem).match == MatchKind::predicted);
    // Tuned, but not compiled: a winner that ships.
    CHECK_THROWS_AS(static_cast<void>(strict.plan({1024, 1024, 1024})), NotTunedError);
    const GemmProblem other{64, 48, 33};
    Library eager({.miss = MissPolicy::tune, .miss_budget_seconds = 1});
    CHECK_THROWS_WITH_AS(static_cast<void>(eager.prepare(other)), doctest::Contains("NVRTC"),
                         EnvironmentError);
  }

  TEST_CASE("what is chosen is told to the application that wants to hear it") {
    const Machine machine;
    std::vector<std::string> lines;
    LibraryOptions options;
    options.log = [&](LogLevel, const std::string& line) { lines.push_back(line); };
    Library library(options);
    library.prepare(kProblem);
    REQUIRE_FALSE(lines.empty());
    CHECK(lines.front().rfind("64x48x32 on NVIDIA H200: predicted, gemm_simt ", 0) == 0);
  }

  TEST_CASE("the version of the library is that of its headers") {
    CHECK(std::string(library_version()) == kVersion);
  }
}

TEST_SUITE("Plan") {
  TEST_CASE("it says what runs, and runs it without a look at anything else") {
    const Machine machine;
    machine.compile_scaling();
    Machine::compile("gemm_simt", kProblem, traits_of(kProblem, false));
    Library library;
    const Plan plan = library.plan(kProblem);
    CHECK(plan.match() == MatchKind::predicted);
    CHECK(plan.kernel() == "gemm_simt");
    CHECK(plan.configuration() == library.query(kProblem).configuration);
    CHECK(plan.workspace_bytes() == 0);
    static_cast<void>(machine.application.take_calls());
    plan(1, {kMemory}, {kMemory}, 0, {kResult});
    plan(0, {}, {}, 0.5f, {kResult});
    const std::string borrowed =
        "cuCtxGetCurrent cuCtxPushCurrent cuCtxGetId cuLaunchKernelEx "
        "cuCtxPopCurrent";
    CHECK(machine.application.take_calls() == borrowed + " " + borrowed);
  }

  TEST_CASE("without a compiler C cannot be scaled alone, which only then is an error") {
    const Machine machine;
    Machine::compile("gemm_simt", kProblem, traits_of(kProblem, false));
    const Plan plan = Library().plan(kProblem);  // it outlives its Library
    CHECK_NOTHROW(plan(1, {kMemory}, {kMemory}, 0, {kResult}));
    CHECK_THROWS_AS(plan(0, {}, {}, 0.5f, {kResult}), EnvironmentError);
  }

  TEST_CASE("operands must be aligned where that was said, and are in their own context") {
    const Machine machine;
    Machine::compile_both("gemm_simt", kProblem);
    Library library;
    const Plan aligned = library.plan(kProblem, Alignment::of_16_bytes);
    CHECK_NOTHROW(aligned(1, {kMemory}, {kMemory}, 0, {kResult}));
    CHECK_THROWS_AS(aligned(1, {kMemory + 1}, {kMemory}, 0, {kResult}), UsageError);
    CHECK_NOTHROW(library.plan(kProblem)(1, {kMemory + 1}, {kMemory}, 0, {kResult}));
    machine.application.push_context(1, 0);
    CHECK_THROWS_AS(aligned(1, {kMemory}, {kMemory}, 0, {kResult}), UsageError);
    machine.application.pop_context();
  }

  TEST_CASE("a workspace is the caller's, and it is checked") {
    const Machine machine;
    Machine::compile_both("gemm_simt", kDeep);
    Library library;
    const Plan plan = library.plan(kDeep);
    REQUIRE(plan.workspace_bytes() > kWorkspaceZeroBytes);
    const auto run = [&](const Workspace& workspace) {
      plan(1, {kMemory}, {kMemory}, 0, {kResult}, nullptr, workspace);
    };
    static_cast<void>(machine.application.take_calls());
    CHECK_NOTHROW(run(workspace_of(plan)));
    CHECK_FALSE(has(machine.application.take_calls(), "cuMemAlloc"));
    CHECK_THROWS_WITH_AS(run({}), doctest::Contains("the workspace has 0 bytes"), UsageError);
    Workspace wrong = workspace_of(plan);
    --wrong.bytes;
    CHECK_THROWS_AS(run(wrong), UsageError);
    wrong = workspace_of(plan);
    wrong.data = static_cast<char*>(wrong.data) + 16;
    CHECK_THROWS_AS(run(wrong), UsageError);
    wrong.data = nullptr;
    CHECK_THROWS_WITH_AS(run(wrong), doctest::Contains("bytes is a null pointer"), UsageError);
  }

  TEST_CASE("one that is not zero is set to zero where that matters, in captures too") {
    const Machine machine;
    for (const GemmProblem& problem : {kDeep, kProblem}) {
      Machine::compile_both("gemm_simt", problem);
    }
    Machine::compile_both("gemm_tiled", kDeep);
    Library library;
    const Plan plan = library.plan(kDeep);
    std::vector<unsigned char> memory(plan.workspace_bytes() + 256, 1);
    const auto at = (reinterpret_cast<std::uintptr_t>(memory.data()) + 255) / 256 * 256;
    auto* const first = reinterpret_cast<unsigned char*>(at);
    GemmArguments call = kCall;
    call.workspace = {first, plan.workspace_bytes()};
    const auto is_zeroed_by = [&](const auto& multiply) {
      *first = first[kWorkspaceZeroBytes - 1] = 1;
      multiply();
      CHECK(first[kWorkspaceZeroBytes] == 1);
      CHECK(*first == first[kWorkspaceZeroBytes - 1]);
      return *first == 0;
    };
    CHECK_FALSE(is_zeroed_by([&] { plan(call); }));
    call.workspace.zeroed = false;
    CHECK(is_zeroed_by([&] { plan(call); }));
    CHECK(is_zeroed_by([&] { library.gemm(kDeep, call); }));
    CHECK(is_zeroed_by([&] { library.try_gemm(kDeep, call); }));
    CHECK_FALSE(is_zeroed_by([&] { library.gemm(kProblem, call); }));  // which needs none
    call.stream = machine.application.stream(true);
    CHECK(is_zeroed_by([&] { plan(call); }));
    call.stream = nullptr;
    --call.workspace.bytes;
    CHECK_FALSE(is_zeroed_by([&] { library.gemm(kDeep, call); }));  // too little, and not used
    call.workspace = {nullptr, 0, false};
    CHECK_FALSE(is_zeroed_by([&] { library.gemm(kDeep, call); }));
    static_cast<void>(machine.application.take_calls());
    library.gemm(kDeep, call);  // with memory of its stream
    CHECK_FALSE(has(machine.application.take_calls(), "cuMemset"));
  }

  TEST_CASE("gemm() uses one that it is given, and another kernel where that is too small") {
    const Machine machine;
    Machine::compile_both("gemm_simt", kDeep);
    Machine::compile_both("gemm_simt", kProblem);
    Library library;
    GemmArguments call{.a = {kMemory}, .b = {kMemory}, .c = {kResult}};
    call.workspace = workspace_of(library.plan(kDeep));
    const auto calls_of_gemm = [&] {
      static_cast<void>(machine.application.take_calls());
      library.gemm(kDeep, call);
      return machine.application.take_calls();
    };
    for (int times = 0; times < 2; ++times) CHECK_FALSE(has(calls_of_gemm(), "cuMemAlloc"));
    call.workspace.bytes /= 2;
    CHECK_THROWS_WITH_AS(calls_of_gemm(), doctest::Contains("not in the cubin store"),
                         EnvironmentError);  // that kernel was not compiled
    call.workspace.data = static_cast<char*>(call.workspace.data) + 16;
    CHECK_THROWS_WITH_AS(calls_of_gemm(), "the workspace is not at a multiple of 256 bytes",
                         UsageError);
    call.workspace.data = nullptr;
    CHECK_THROWS_WITH_AS(calls_of_gemm(), doctest::Contains("bytes is a null pointer"), UsageError);
    call.workspace = {};
    CHECK(has(calls_of_gemm(), "cuMemAlloc"));
  }

  TEST_CASE("of an empty product does nothing") {
    const Machine machine;
    Library library;
    const Plan plan = library.plan({0, 5, 6});
    CHECK(plan.kernel() == "");
    CHECK(plan.match() == MatchKind::exact);
    static_cast<void>(machine.application.take_calls());
    plan(1, {}, {}, 0, {});
    CHECK(machine.application.take_calls() == "");
  }
}

}  // namespace
}  // namespace autotune::test
