// Tuning runs with a limit of the error.
#include <doctest/doctest.h>

#include "tests/tuner/tune_fixture.hpp"

namespace autotune::test {
namespace {

// The fastest configurations, those with A = 2, are the least accurate.
struct Inaccurate : TuneFixture {
  Inaccurate() {
    script->measure = [](const MeasureRequest& m) {
      MeasureReply reply = measured(time_us(m));
      reply.verification.error_bound = 100;
      reply.verification.frobenius_error = macro(m.cubin, "A") == 2 ? 3e-4 : 2e-7;
      return WorkerOutcome(WorkerReply(reply));
    };
  }
};

TEST_SUITE("limit of the error") {
  TEST_CASE("the fastest configuration that keeps to it wins") {
    Inaccurate f;
    f.request.max_error = 1e-6;
    const TuneReport report = f.run();
    const Winner& winner = report.problems.front().winner.value();
    CHECK(winner.configuration.at("X") == 7);
    CHECK(winner.configuration.at("A") != 2);
    CHECK(winner.verification.frobenius_error == 2e-7);
    CHECK(winner.confirmed);
  }

  TEST_CASE("a winner under it does not replace what wins without it") {
    Inaccurate f;
    f.request.max_error = 1e-6;
    static_cast<void>(f.run());
    CHECK(f.database.winners({}).empty());
    f.request.max_error.reset();
    const Winner fastest = f.run().problems.front().winner.value();
    CHECK(fastest.configuration == Configuration({{"X", 7}, {"A", 2}}));
    CHECK(fastest.confirmed);
    CHECK(f.database.winners({}).size() == 1);
    // The trials answer the next request with a limit.
    f.request.max_error = 1e-6;
    const TuneReport again = f.run();
    CHECK(again.measured == 0);
    CHECK(again.problems.front().winner->configuration.at("A") != 2);
    CHECK(f.database.best_trials({}).front().configuration.at("A") == 2);
    CHECK(f.database.best_trials({.max_error = 1e-6}).front().configuration.at("A") != 2);
  }

  TEST_CASE("it is stored where the limit leaves nothing out") {
    Inaccurate f;
    f.request.max_error = 1e-3;
    CHECK(f.run().problems.front().winner->configuration == Configuration({{"X", 7}, {"A", 2}}));
    CHECK(f.database.winners({}).size() == 1);
  }

  TEST_CASE("the least error is reported where nothing keeps to it") {
    Inaccurate f;
    f.request.max_error = 1e-9;
    const TuneReport report = f.run();
    CHECK_FALSE(report.problems.front().winner);
    CHECK(report.problems.front().least_error == 2e-7);
    CHECK(f.database.winners({}).empty());
  }

  TEST_CASE("a trial that was not verified does not keep to it") {
    TuneFixture f;
    f.request.max_error = 1e-3;
    f.script->measure = [](const MeasureRequest& m) {
      MeasureReply reply = measured(time_us(m));
      reply.verification = {};
      return WorkerOutcome(WorkerReply(reply));
    };
    CHECK_FALSE(f.run().problems.front().winner);
  }
}

}  // namespace
}  // namespace autotune::test
