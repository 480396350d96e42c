// The program on a GPU whose clock lies, and on one that is another one the next time.
#include <cmath>

#include <doctest/doctest.h>

#include "tests/cli/fake_machine.hpp"

namespace autotune::test {
namespace {

TEST_SUITE("a GPU's clock") {
  TEST_CASE("whatever it says, no time is stored that cannot be") {
    if (!can_compile()) return;
    const FakeMachine machine;
    for (const char* clock : {"elapsed=0", "elapsed=-1", "elapsed=nan", "elapsed=inf",
                              "elapsed=1,1,1,0,1", "elapsed=1,1,1,1,-1", "elapsed=1,1,1,1,1,nan"}) {
      CAPTURE(clock);
      const ProgramResult result = machine.tune(clock, "2");
      CAPTURE(result.err);
      CHECK((result.exit_code == kSuccess || result.exit_code == kNoneCorrect));
      CHECK_FALSE(has(result.out, "nan"));
      CHECK_FALSE(has(result.out, "inf "));
      const auto database = TuningDatabase::open_read_only(machine.database());
      std::vector<Winner> results = database->winners({});
      for (Winner& winner : database->best_trials({})) results.push_back(std::move(winner));
      for (const Winner& winner : results) {
        CHECK(winner.median_us > 0);
        CHECK(std::isfinite(winner.high_us));
        if (winner.rates) CHECK(std::isfinite(winner.rates->fma_gflops));
      }
    }
  }

  TEST_CASE("one that jumps now and then still gives a winner") {
    if (!can_compile()) return;
    const FakeMachine machine;
    for (const char* clock : {"elapsed=1,1,1,1,1,1,50", "elapsed=1,1.3", "elapsed=4"}) {
      CAPTURE(clock);
      CHECK(machine.tune(clock, "2").exit_code == kSuccess);
    }
  }
}

TEST_SUITE("a changed machine") {
  TEST_CASE("another driver has finalists timed again, another GPU everything") {
    if (!can_compile()) return;
    const FakeMachine machine;
    CHECK(has(machine.go_on("", "3").out, "3 measured, 0 known"));
    CHECK(has(machine.go_on("", "3").out, "0 measured, 3 known"));
    const ProgramResult newer = machine.go_on("driver=13010", "3");
    CHECK(has(newer.err, "trials of 64x64x64 were timed again"));
    CHECK(newer.exit_code == kSuccess);
    CHECK(has(machine.go_on("attribute16=100", "3").out, "3 measured, 0 known"));  // SMs
    CHECK(has(machine.go_on("", "3").out, "0 measured, 3 known"));
  }
}

}  // namespace
}  // namespace autotune::test
