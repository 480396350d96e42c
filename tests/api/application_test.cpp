// An application that forks, and what it has after a Library is gone.
#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/gpu.hpp"
#include "tests/api/fake_machine.hpp"

namespace autotune::test {
namespace {

TEST_SUITE("an application with a GPU") {
  TEST_CASE("a process that the application forks makes no call of the driver") {
    const Machine machine;
    Machine::compile_both("gemm_simt", kProblem);
    auto library = std::make_unique<Library>();
    Plan plan = library->plan(kProblem);
    static_cast<void>(machine.calls_of(*library));
    const pid_t child = ::fork();
    if (child == 0) {
      const auto is_refused = [](const auto& call) {
        try {
          call();
        } catch (const UsageError& error) {
          return has(error.what(), "forked");
        }
        return false;
      };
      bool right = is_refused([&] { static_cast<void>(machine.calls_of(*library)); });
      right &= is_refused([&] { plan(1, {kMemory, 32}, {kMemory, 48}, 0, {kResult, 48}); });
      right &= is_refused([&] { library->prepare(kProblem); });
      library.reset();
      ::_exit(right && machine.application.take_calls().empty() ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(has(machine.calls_of(*library), "cuLaunchKernelEx"));
    static_cast<void>(machine.application.take_calls());
    library.reset();
    plan = Plan();
    CHECK(has(machine.application.take_calls(), "cuModuleUnload"));
  }

  // The module asks the driver for no function that sets a limit, a flag or a mode of a context.
  TEST_CASE("what is allocated, made or retained is given back") {
    Machine machine;
    Machine::compile("gemm_simt", kDeep);
    machine.no_nvrtc.reset();
    static_cast<void>(machine.application.take_calls());
    {
      Library library;
      library.prepare(kProblem);
      library.gemm(kDeep, 1, {kMemory}, {kMemory}, 0, {kResult});
      if (inspect_nvrtc().usable) {
        const TuningResult tuned = library.tune({kProblem}, {.budget_trials = 2});
        CHECK(tuned.measured == 2);
      }
    }
    const std::string calls = " " + machine.application.take_calls() + " ";
    const auto count = [&](const std::string& name) {
      const std::string word = " " + name + " ";
      int found = 0;
      for (std::size_t at = calls.find(word); at != calls.npos; at = calls.find(word, at + 1)) {
        ++found;
      }
      return found;
    };
    const std::pair<const char*, const char*> pairs[] = {
        {"cuMemAlloc", "cuMemFree"},
        {"cuMemHostAlloc", "cuMemFreeHost"},
        {"cuStreamCreate", "cuStreamDestroy"},
        {"cuEventCreate", "cuEventDestroy"},
        {"cuModuleLoadData", "cuModuleUnload"},
        {"cuGraphInstantiateWithFlags", "cuGraphExecDestroy"},
        {"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease"},
        {"cuCtxPushCurrent", "cuCtxPopCurrent"}};
    for (const auto& [made, given_back] : pairs) {
      CAPTURE(made);
      CHECK(count(made) == count(given_back));
    }
    CHECK(count("cuMemAlloc") > 0);
    CHECK(count("cuModuleLoadData") > 0);
    CHECK(count("cuDevicePrimaryCtxRetain") > 0);
  }
}

}  // namespace
}  // namespace autotune::test
