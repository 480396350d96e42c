// The pool of compile workers starts no more of them than there are jobs.
#include "tuner/compile/compile_pool.hpp"

#include <atomic>

#include <doctest/doctest.h>

#include "core/mailbox.hpp"
#include "tests/tuner/tune_fixture.hpp"

namespace autotune::test {
namespace {

TEST_SUITE("compile pool") {
  TEST_CASE("a worker is started for a job that finds none idle, and none besides") {
    const auto script = std::make_shared<Script>();
    std::atomic<int> workers = 0;
    Mailbox<KernelBuilt> built;
    CompilePool pool(
        [&] {
          ++workers;
          return std::make_unique<ScriptedWorker>(script);
        },
        1'000'000, std::chrono::minutes(1),
        [&](KernelBuilt kernel) { built.post(std::move(kernel)); });
    CHECK(workers == 0);
    pool.submit({.id = 1, .request = {}});
    CHECK(built.wait().id == 1);
    CHECK(workers == 1);
    for (std::size_t id = 2; id < 10; ++id) pool.submit({.id = id, .request = {}});
    for (std::size_t id = 2; id < 10; ++id) static_cast<void>(built.wait());
    CHECK(workers <= 9);
  }

  TEST_CASE("any number of workers may be allowed for a small search") {
    TuneFixture f;
    f.setup.compile_jobs = 1'000'000;
    f.request.budget.trials = 2;
    const TuneReport report = f.run();
    CHECK(report.measured == 2);
    CHECK(report.compile_workers >= 1);
    CHECK(report.compile_workers < 100);  // those that were started, not those that might be
  }
}

}  // namespace
}  // namespace autotune::test
