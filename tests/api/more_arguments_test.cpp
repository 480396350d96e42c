// Factors in the device's memory, and a result beside C.
#include <string>

#include <doctest/doctest.h>

#include "tests/api/fake_machine.hpp"

namespace autotune::test {
namespace {

const float* const kAlpha = kResult + (1 << 20);

GemmArguments with_scalars_in_memory() {
  GemmArguments call = kCall;
  call.alpha_ptr = kAlpha;
  call.beta_ptr = kAlpha + 1;
  return call;
}

CodeTraits traits_of_addresses(const GemmProblem& problem, bool aligned) {
  CodeTraits traits = traits_of(problem, aligned);
  traits.macros.emplace_back("SCALARS_IN_MEMORY=1");
  return traits;
}

TEST_SUITE("factors in the device's memory") {
  TEST_CASE("have kernels of their own, which the first call loads") {
    const Machine machine;
    Library library;
    library.gemm(kProblem, kCall);
    const GemmArguments call = with_scalars_in_memory();
    CHECK(library.try_gemm(kProblem, call) == Outcome::not_ready);
    CHECK_THROWS_AS(library.gemm(kProblem, call), EnvironmentError);  // there is no compiler
    Machine::compile("gemm_simt", kProblem, traits_of_addresses(kProblem, true));
    library = Library();
    CHECK(library.gemm(kProblem, call) == MatchKind::predicted);
    CHECK(library.try_gemm(kProblem, call) == Outcome::done);
    CHECK(library.try_gemm(kProblem, kCall) == Outcome::not_ready);
  }

  TEST_CASE("scale C by a kernel of their own, where K is 0") {
    const Machine machine;
    const GemmProblem any{1024, 1024, 1};
    Machine::compile("gemm_tiled", any, traits_of_addresses(any, false));
    Library library;
    const GemmProblem empty{.m = 64, .n = 48, .k = 0};
    static_cast<void>(machine.application.take_calls());
    library.gemm(empty, with_scalars_in_memory());
    CHECK(has(machine.application.take_calls(), "cuLaunchKernelEx"));
    GemmArguments scaled = kCall;
    scaled.beta = 0.5F;
    CHECK(library.try_gemm(empty, scaled) == Outcome::not_ready);
  }

  TEST_CASE("are what a plan is made for, or not") {
    const Machine machine;
    Machine::compile("gemm_simt", kProblem, traits_of_addresses(kProblem, true));
    Library library;
    const Plan values = library.plan(kProblem, Alignment::of_16_bytes);
    const GemmProblem any{1024, 1024, 1};
    Machine::compile("gemm_tiled", any, traits_of_addresses(any, false));
    const Plan addresses = library.plan(kProblem, Alignment::of_16_bytes, PointerMode::device);
    CHECK(has(machine.application.last_image(), "gemm_simt"));  // it scales C too
    CHECK_NOTHROW(values(kCall));
    CHECK_NOTHROW(addresses(with_scalars_in_memory()));
    CHECK_THROWS_WITH_AS(values(with_scalars_in_memory()),
                         "alpha_ptr and beta_ptr: the plan was made for PointerMode::host",
                         UsageError);
    CHECK_THROWS_WITH_AS(addresses(kCall),
                         "the plan was made for PointerMode::device: give alpha_ptr and beta_ptr",
                         UsageError);
    CHECK_THROWS_AS(
        static_cast<void>(library.plan(kProblem, Alignment::any, static_cast<PointerMode>(2))),
        UsageError);
  }
}

TEST_SUITE("a result beside C") {
  TEST_CASE("gets C first, where beta may be other than 0") {
    const Machine machine;
    Machine::compile("gemm_simt", kProblem, traits_of_addresses(kProblem, true));
    Machine::compile_scaling();
    Library library;
    const auto calls_of = [&](const GemmArguments& call) {
      library.gemm(kProblem, call);
      static_cast<void>(machine.application.take_calls());
      library.gemm(kProblem, call);
      const std::string calls = machine.application.take_calls();
      std::string work;
      for (const char* name : {"cuMemcpyDtoDAsync", "cuMemcpy2DAsync", "cuLaunchKernelEx"}) {
        if (has(calls, name)) work += std::string(work.empty() ? "" : " ") + name;
      }
      return work;
    };
    GemmArguments call = kCall;
    std::string memory(2 * kProblem.m * kProblem.n * sizeof(float), 0);
    call.c = {reinterpret_cast<float*>(memory.data())};
    call.d = {reinterpret_cast<float*>(memory.data()) + kProblem.m * kProblem.n};
    call.a = call.b = {kMemory};
    CHECK(calls_of(call) == "cuLaunchKernelEx");  // C is not read
    call.beta = 2;
    CHECK(calls_of(call) == "cuMemcpyDtoDAsync cuLaunchKernelEx");
    call.alpha = 0;
    CHECK(calls_of(call) == "cuMemcpyDtoDAsync cuLaunchKernelEx");
    call.beta = 1;
    CHECK(calls_of(call) == "cuMemcpyDtoDAsync");
    call.d = call.c;
    CHECK(calls_of(call) == "");
    call = with_scalars_in_memory();
    call.c = {reinterpret_cast<float*>(memory.data())};
    call.d = {reinterpret_cast<float*>(memory.data()) + kProblem.m * kProblem.n};
    CHECK(calls_of(call) == "cuMemcpyDtoDAsync cuLaunchKernelEx");
  }
}

}  // namespace
}  // namespace autotune::test
