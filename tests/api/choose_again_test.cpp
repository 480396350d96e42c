// A better kernel takes the place of the one that warm calls run, on the fake driver.
#include <atomic>
#include <latch>
#include <stop_token>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "api/device_choice.hpp"
#include "api/gemm_backend.hpp"
#include "api/gemm_call.hpp"
#include "gpu/gpu.hpp"
#include "tests/api/fake_machine.hpp"
#include "tests/support/portfolios.hpp"
#include "tests/support/winner.hpp"

namespace autotune::test {
namespace {

// A GPU's products as a Library has them.
struct Products {
  Machine machine;
  ResultSource results{machine.storage.database()};
  CubinStore cubins = cubin_store_for_calls();
  Log log{{}};
  DeviceInfo device = choose_device("0").device;
  std::unique_ptr<GemmBackend> backend = make_gpu_gemm(
      inspect_driver().devices, std::nullopt,
      {.portfolios = built_in_portfolios(), .log = log, .results = &results, .cubins = &cubins});

  MatchKind multiply(const GemmProblem& problem, CUstream_st* stream = nullptr, int offset = 0) {
    static_cast<void>(machine.application.take_calls());
    return backend->gemm(checked_call(
        problem,
        {1, {kMemory + offset, problem.k}, {kMemory, problem.n}, 0, {kResult, problem.n}, stream}));
  }

  // Stores a winner with its compiled kernel: a template's default for another problem.
  void store_winner(const std::string& name, const GemmProblem& problem, const GemmProblem& other) {
    const KernelTemplate& kernel = *built_in_kernels().find(name);
    Winner winner = winner_of(kernel, problem, device);
    winner.configuration = kernel.default_configuration(other);
    TuningDatabase::open(machine.storage.database()).put_winners({&winner, 1});
    for (const bool aligned : {true, false}) {
      store_code(kernel, other, traits_of(problem, aligned));
    }
  }
  // Stores the compiled kernel of a winner that has the default for a problem.
  static void store_code(const KernelTemplate& kernel, const GemmProblem& other,
                         const CodeTraits& traits) {
    const Configuration configuration = kernel.default_configuration(other);
    open_cubin_store().put(cubin_key("99.9 CL-1", std::string(kernel.source),
                                     compile_options(kernel, configuration, traits, "sm_90")),
                           {"// PTX\n.entry " + kernel.name + "(", "", {}});
  }
};

TEST_SUITE("kernels that are chosen again") {
  TEST_CASE("calls run with the new kernel, and none of them is cold") {
    Products products;
    const std::string warm =
        "cuCtxGetCurrent cuCtxPushCurrent cuCtxGetId cuLaunchKernelEx cuCtxPopCurrent";
    CHECK(products.multiply(kProblem) == MatchKind::predicted);
    products.store_winner("gemm_simt", kProblem, {4096, 4096, 4096});
    CHECK(products.multiply(kProblem) == MatchKind::predicted);
    static_cast<void>(products.machine.application.take_calls());
    products.backend->choose_again(products.device, kProblem);
    // Other threads may capture while the kernel is loaded.
    CHECK(has(products.machine.application.take_calls(),
              "cuThreadExchangeStreamCaptureMode cuModuleLoadData cuModuleGetFunction"));
    CHECK(products.machine.application.context_depth() == 0);
    CHECK(products.multiply(kProblem) == MatchKind::exact);
    CHECK(products.machine.application.take_calls() == warm);
    CUstream_st* const capturing = products.machine.application.stream(true);
    CHECK(products.multiply(kProblem, capturing) == MatchKind::exact);
  }

  TEST_CASE("calls with factors in memory run with the new kernel too") {
    Products products;
    CodeTraits traits = traits_of(kProblem, true);
    traits.macros.emplace_back("SCALARS_IN_MEMORY=1");
    Machine::compile("gemm_simt", kProblem, traits);
    const GemmProblem other{4096, 4096, 4096};
    products.store_code(*built_in_kernels().find("gemm_simt"), other, traits);
    GemmArguments arguments = kCall;
    arguments.alpha_ptr = arguments.beta_ptr = kMemory;
    const GemmCall call = checked_call(kProblem, arguments);
    CHECK(products.backend->gemm(call) == MatchKind::predicted);
    products.store_winner("gemm_simt", kProblem, other);
    products.backend->choose_again(products.device, kProblem);
    const Tried tried = products.backend->try_gemm(call);
    CHECK(tried.outcome == Outcome::done);
    CHECK(tried.match == MatchKind::exact);
  }

  TEST_CASE("a plan that was made before keeps its kernel") {
    Products products;
    const PlannedGemm& before = products.backend->plan(kProblem, true, PointerMode::host);
    products.store_winner("gemm_simt", kProblem, {4096, 4096, 4096});
    products.backend->choose_again(products.device, kProblem);
    CHECK(before.best.match == MatchKind::predicted);
    CHECK(products.backend->plan(kProblem, true, PointerMode::host).best.match == MatchKind::exact);
  }

  TEST_CASE("choices that are forgotten leave no second plan behind that is equal") {
    Products products;
    const PlannedGemm& before = products.backend->plan(kProblem, true, PointerMode::host);
    for (int i = 0; i < 3; ++i) {
      products.backend->forget_choices();
      CHECK(&products.backend->plan(kProblem, true, PointerMode::host) == &before);
    }
    products.store_winner("gemm_simt", kProblem, {4096, 4096, 4096});
    products.backend->forget_choices();
    const PlannedGemm& tuned = products.backend->plan(kProblem, true, PointerMode::host);
    CHECK(&tuned != &before);
    CHECK(tuned.best.match == MatchKind::exact);
  }

  TEST_CASE("nothing is loaded for operands that no call had") {
    Products products;
    Machine::compile_both("gemm_simt", kProblem);
    products.store_winner("gemm_simt", kProblem, {4096, 4096, 4096});
    static_cast<void>(products.machine.application.take_calls());
    products.backend->choose_again(products.device, kProblem);
    CHECK_FALSE(has(products.machine.application.take_calls(), "cuModuleLoadData"));
    CHECK(products.multiply(kProblem, nullptr, 1) == MatchKind::exact);
  }

  TEST_CASE("a kernel that cannot be loaded leaves the one before") {
    Products products;
    CHECK(products.multiply(kProblem) == MatchKind::predicted);
    products.store_winner("gemm_simt", kProblem, {4096, 4096, 4096});
    products.machine.cuda.set_script("devices=2;attribute82=0;cuModuleLoadData:200");
    products.backend->choose_again(products.device, kProblem);
    CHECK(products.multiply(kProblem) == MatchKind::predicted);
  }

  TEST_CASE("contexts of the application's own keep their kernels") {
    Products products;
    products.machine.application.push_context(0, 1);
    CHECK(products.multiply(kProblem) == MatchKind::predicted);
    products.store_winner("gemm_simt", kProblem, {4096, 4096, 4096});
    products.backend->choose_again(products.device, kProblem);
    CHECK(products.multiply(kProblem) == MatchKind::predicted);
    products.machine.application.pop_context();
    CHECK(products.multiply(kProblem) == MatchKind::exact);
  }

  TEST_CASE("sixteen threads multiply while kernels take the places of others") {
    Products products;
    products.machine.application.stay_silent(true);
    const GemmCall call = checked_call(kProblem, {1, {kMemory}, {kMemory}, 0, {kResult}, nullptr});
    constexpr int kThreads = 16;
    std::latch all_have_called(kThreads);
    std::atomic<int> changed = 0;
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&](const std::stop_token& stop) {
        MatchKind last = products.backend->gemm(call);
        wrong += last != MatchKind::predicted ? 1 : 0;
        all_have_called.count_down();
        while (!stop.stop_requested()) {
          const MatchKind match = products.backend->gemm(call);
          changed += match != last ? 1 : 0;
          wrong += match != last && match != MatchKind::exact ? 1 : 0;  // it was exact before
          last = match;
          std::this_thread::yield();
        }
      });
    }
    all_have_called.wait();
    for (int swap = 0; swap < 4 || (changed < kThreads && swap < 1000); ++swap) {
      const std::int64_t size = swap % 2 == 0 ? 4096 : 64;
      products.store_winner("gemm_simt", kProblem, {size, size, size});
      products.backend->choose_again(products.device, kProblem);
    }
    threads.clear();
    products.machine.application.stay_silent(false);
    CHECK(changed == kThreads);
    CHECK(wrong == 0);
    CHECK(products.multiply(kProblem) == MatchKind::exact);
  }

  TEST_CASE(
      "a workspace of the caller's that is too small for the new kernel gets the one before") {
    Products products;
    Machine::compile("gemm_tiled", kDeep);
    products.store_winner("gemm_tiled", kDeep, kDeep);
    GemmArguments arguments{.a = {kMemory}, .b = {kMemory}, .c = {kResult}};
    arguments.stream = products.machine.application.stream(false);
    arguments.workspace = {kMemory, 256};
    const GemmCall call = checked_call(kDeep, arguments);
    CHECK(products.backend->gemm(call) == MatchKind::exact);
    TuningDatabase::open(products.machine.storage.database()).remove({});
    products.store_winner("gemm_simt", kDeep, kDeep);
    products.backend->choose_again(products.device, kDeep);
    REQUIRE(products.backend->plan(kDeep, true, PointerMode::host).workspace_bytes > 256);
    products.machine.application.capture(arguments.stream, true);
    static_cast<void>(products.machine.application.take_calls());
    CHECK(products.backend->try_gemm(call).outcome == Outcome::done);
    CHECK(products.backend->gemm(call) == MatchKind::exact);
    CHECK_FALSE(has(products.machine.application.take_calls(), "cuModuleLoadData"));
    products.machine.application.capture(arguments.stream, false);
  }

  TEST_CASE("in a capture without memory for the new kernel the one before runs") {
    Products products;
    Machine::compile("gemm_tiled", kDeep);
    products.store_winner("gemm_tiled", kDeep, kDeep);
    CHECK(products.multiply(kDeep) == MatchKind::exact);
    CHECK_FALSE(has(products.machine.application.take_calls(), "cuMemAlloc"));
    TuningDatabase::open(products.machine.storage.database()).remove({});
    products.store_winner("gemm_simt", kDeep, kDeep);
    products.backend->choose_again(products.device, kDeep);
    CUstream_st* const stream = products.machine.application.stream(true);
    CHECK(products.multiply(kDeep, stream) == MatchKind::exact);
    CHECK_FALSE(has(products.machine.application.take_calls(), "cuMemAlloc"));
    products.machine.application.capture(stream, false);
    CHECK(products.multiply(kDeep, stream) == MatchKind::exact);
    CHECK(has(products.machine.application.take_calls(), "cuMemAlloc"));
  }
}

}  // namespace
}  // namespace autotune::test
