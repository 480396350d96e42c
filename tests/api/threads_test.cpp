// One Library for many threads while its products are tuned. The fake driver orders no threads, so
// that the thread sanitizer sees what the Library itself leaves unordered.
#include <atomic>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "db/tuning_database.hpp"
#include "tests/api/fake_machine.hpp"

namespace autotune::test {
namespace {

const GemmProblem kBatch{.m = 16, .n = 48, .k = 32, .batch = 5};
const GemmProblem kRow{.m = 1, .n = 512, .k = 64};  // has a template of its own
const GemmProblem kMixed[] = {kProblem, kBatch, kDeep, kRow};

std::string text_of(const std::string& kernel, const Configuration& configuration) {
  return kernel + " " + to_string(configuration);
}

// The calls of one thread, with the kernels that they ran and the first error.
struct Caller {
  std::set<std::string> kernels;
  std::string error;

  // Calls products of all shapes. They have the kernels that are the best by then.
  void multiply(Library& library, CUstream_st* stream) noexcept try {
    for (const GemmProblem& problem : kMixed) {
      const Matrix a{kMemory, 0, problem.m * problem.k};
      const Matrix b{kMemory, 0, problem.k * problem.n};
      const MutableMatrix c{kResult, 0, problem.m * problem.n};
      library.gemm(problem, 1, a, b, 0, c, stream);
      const Plan plan = library.plan(problem, Alignment::of_16_bytes);
      plan(1, a, b, 0, c, stream, {kMemory, plan.workspace_bytes()});
      kernels.insert(text_of(plan.kernel(), plan.configuration()));
    }
  } catch (const std::exception& problem) {
    error = problem.what();
  }
  void query(const Library& library) noexcept try {
    for (const GemmProblem& problem : kMixed) {
      const BestConfiguration best = library.query(problem);
      kernels.insert(text_of(best.template_name, best.configuration));
    }
  } catch (const std::exception& problem) {
    error = problem.what();
  }
};

TEST_SUITE("threads") {
  TEST_CASE("sixteen threads multiply and one asks, while another tunes") {
    Machine machine;
    if (!machine.use_nvrtc()) return;
    Library library;
    std::set<std::string> valid;
    for (const GemmProblem& problem : kMixed) {
      const BestConfiguration best = library.query(problem);
      Machine::compile_both(best.template_name, problem);
      valid.insert(text_of(best.template_name, best.configuration));
    }
    machine.application.stay_silent(true);
    std::atomic<int> step = 0;  // of the searches
    const auto next_step = [&step] {
      ++step;
      step.notify_all();
      return true;
    };
    // Works at each step and at the end.
    const auto at_each_step = [&](const std::stop_token& stop, const auto& work) {
      const std::stop_callback wake(stop, next_step);
      for (int seen = step; !stop.stop_requested(); seen = step) {
        work();
        step.wait(seen);
      }
      work();
    };
    std::vector<Caller> callers(17);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 16; ++i) {
      threads.emplace_back([&, i](const std::stop_token& stop) {
        CUstream_st* const stream = i % 2 == 0 ? nullptr : kPerThreadStream;
        at_each_step(stop, [&] { callers[i].multiply(library, stream); });
      });
    }
    threads.emplace_back([&](const std::stop_token& stop) {
      at_each_step(stop, [&] { callers.back().query(library); });
    });
    const TuningResult result =
        library.tune({kProblem}, {.budget_trials = 2,
                                  .strategy = "random",
                                  .progress = [&](const TuningProgress&) { return next_step(); }});
    const Plan tuned = library.plan(kProblem, Alignment::of_16_bytes);
    threads.clear();
    machine.application.stay_silent(false);
    CHECK(machine.application.context_depth() == 0);

    REQUIRE(result.problems.front().winner);
    CHECK(tuned.match() == MatchKind::exact);
    CHECK(tuned.configuration() == result.problems.front().winner->configuration);
    for (const StoredTrial& tried :
         TuningDatabase::open(machine.storage.database()).all_trials({})) {
      valid.insert(text_of(tried.scope.template_name, tried.trial.configuration));
    }
    for (const Caller& caller : callers) {
      CHECK(caller.error == "");
      for (const std::string& kernel : caller.kernels) {
        CAPTURE(kernel);
        CHECK(valid.contains(kernel));
      }
    }
  }
}

}  // namespace
}  // namespace autotune::test
