// The embedded library end to end on the CPU device: real kernels, a real database.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/autotuner.hpp"

#include "tests/app/api/temporary_storage.hpp"

namespace autotune::test {
namespace {

const AutotunerOptions kHost{.device = "host"};
const TuningOptions kFewTrials{.budget_trials = 6};
constexpr float kUntouched = -77;

// A product with rows further apart than they need be, and what must come out of it.
struct Product {
  GemmProblem problem;
  std::int64_t lda, ldb, ldc;
  std::vector<float> a, b, c, expected;
  float alpha, beta;

  Product(const GemmProblem& which, std::int64_t gap, float alpha_, float beta_)
      : problem(which),
        lda(which.lda() + gap),
        ldb(which.ldb() + gap),
        ldc(which.ldc() + gap),
        alpha(alpha_),
        beta(beta_) {
    const bool a_plain = problem.op_a == Transpose::none;
    const bool b_plain = problem.op_b == Transpose::none;
    fill(a, (a_plain ? problem.m : problem.k) * lda, 1);
    fill(b, (b_plain ? problem.k : problem.n) * ldb, 2);
    c.assign(static_cast<std::size_t>(problem.m * ldc), kUntouched);
    expected = c;
    for (std::int64_t i = 0; i < problem.m; ++i) {
      for (std::int64_t j = 0; j < problem.n; ++j) {
        const auto place = static_cast<std::size_t>(i * ldc + j);
        float sum = 0;  // in the kernels' order
        for (std::int64_t l = 0; l < problem.k; ++l) {
          sum = std::fma(a[static_cast<std::size_t>(a_plain ? i * lda + l : l * lda + i)],
                         b[static_cast<std::size_t>(b_plain ? l * ldb + j : j * ldb + l)], sum);
        }
        expected[place] = beta == 0 ? alpha * sum : std::fma(beta, c[place], alpha * sum);
      }
    }
  }

  static void fill(std::vector<float>& data, std::int64_t count, int seed) {
    for (std::int64_t i = 0; i < count; ++i) {
      data.push_back(std::sin(static_cast<float>(i + 1) * static_cast<float>(seed)));
    }
  }

  MatchKind run(Autotuner& tuner) {
    return tuner.gemm(problem, alpha, a.data(), lda, b.data(), ldb, beta, c.data(), ldc);
  }
};

TEST_SUITE("embedding on the CPU device") {
  const GemmProblem kOdd{.m = 7, .n = 1, .k = 3};
  const GemmProblem kSmall{.m = 70, .n = 33, .k = 51};

  TEST_CASE("a tuned product is that of sequential multiply-adds, bit for bit") {
    const TemporaryStorage storage;
    Autotuner tuner(kHost);
    for (const GemmProblem& problem : {kOdd, kSmall}) {
      CAPTURE(to_string(problem));
      const TuningResult result = tuner.tune(problem, kFewTrials);
      CHECK(result.measured == 6);
      CHECK(result.statuses.at("ok") == 6);
      CHECK(result.complete);
      CHECK(result.storage_problem == "");
      REQUIRE(result.winner);
      CHECK(tuner.best(problem).configuration == result.winner->configuration);
      for (const auto& [alpha, beta] : {std::pair{1.f, 0.f}, {-1.5f, 0.f}, {0.75f, 0.5f}}) {
        Product product(problem, 0, alpha, beta);
        CHECK(product.run(tuner) == MatchKind::exact);
        CHECK(product.c == product.expected);
      }
    }
  }

  TEST_CASE("candidates run in processes of the program that is named, and in none of another") {
    const TemporaryStorage storage;
    const std::filesystem::path mark = storage.folder() / "started";
    const std::filesystem::path program = storage.folder() / "program";
    std::ofstream(program) << "#!/bin/sh\ntouch " << mark << "\nexec " << AUTOTUNE_PROGRAM
                           << " \"$@\"\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    Autotuner tuner(kHost);
    CHECK(tuner.tune(kOdd, kFewTrials).measured == 6);
    CHECK_FALSE(std::filesystem::exists(mark));
    const TuningOptions isolated{.budget_trials = 6, .worker_program = program};
    CHECK(tuner.tune(kSmall, isolated).statuses.at("ok") == 6);
    CHECK(std::filesystem::exists(mark));
    CHECK_THROWS_WITH_AS(tuner.tune(kSmall, {.fresh = true, .worker_program = "/bin/true"}),
                         doctest::Contains("exited with code 0"), EnvironmentError);
  }

  TEST_CASE("all layouts, with rows further apart than they need be") {
    const TemporaryStorage storage;
    Autotuner tuner(kHost);
    for (const char* layout : {"NN", "NT", "TN", "TT"}) {
      CAPTURE(layout);
      GemmProblem problem = kSmall;
      set_layout(problem, layout);
      Product product(problem, 5, 2, -1);
      CHECK(product.run(tuner) == MatchKind::predicted);
      CHECK(product.c == product.expected);  // and what lies between the rows is as it was
    }
  }

  TEST_CASE("what is known is not measured again, by another object neither") {
    const TemporaryStorage storage;
    CHECK(Autotuner(kHost).tune(kOdd, kFewTrials).measured == 6);
    const TuningResult again = Autotuner(kHost).tune(kOdd, kFewTrials);
    CHECK(again.measured == 0);
    CHECK(again.known == 6);
    REQUIRE(again.winner);
    TuningOptions fresh = kFewTrials;
    fresh.fresh = true;
    CHECK(Autotuner(kHost).tune(kOdd, fresh).measured == 6);
  }

  TEST_CASE("best() says how good the match is, and gemm() uses it") {
    const TemporaryStorage storage;
    Autotuner tuner(kHost);
    const BestConfiguration guess = tuner.best(kSmall);
    CHECK(guess.match == MatchKind::predicted);
    CHECK_FALSE(guess.median_us);
    Product product(kSmall, 0, 1, 0);
    CHECK(product.run(tuner) == MatchKind::predicted);

    tuner.tune(kOdd, kFewTrials);
    const BestConfiguration near = tuner.best(kSmall);
    CHECK(near.match == MatchKind::nearest_size);
    CHECK(near.tuned_for == kOdd);
    CHECK(near.explanation != "");
    CHECK(product.run(tuner) == MatchKind::nearest_size);  // the choice before is forgotten
    CHECK(product.c == product.expected);

    tuner.tune(kSmall, kFewTrials);
    CHECK(tuner.best(kSmall).match == MatchKind::exact);
    CHECK(tuner.best(kSmall).median_us.value() > 0);
    CHECK(tuner.prepare(kSmall) == MatchKind::exact);
  }

  TEST_CASE("products of several threads do not disturb each other") {
    const TemporaryStorage storage;
    Autotuner tuner(kHost);
    std::vector<std::jthread> threads;
    std::vector<int> wrong(4);
    for (std::size_t thread = 0; thread < wrong.size(); ++thread) {
      threads.emplace_back([&tuner, &wrong, thread, size = static_cast<std::int64_t>(thread)] {
        for (std::int64_t i = 0; i < 20; ++i) {
          Product product({.m = 20 + size, .n = 9, .k = 5 + i % 3}, 1, 1, 1);
          product.run(tuner);
          if (product.c != product.expected) ++wrong[thread];
        }
      });
    }
    threads.clear();
    CHECK(wrong == std::vector<int>(4));
  }

  TEST_CASE("a kernel that was compiled once needs no compiler") {
    const TemporaryStorage storage;
    Product product(kOdd, 0, 1, 0);
    {
      Autotuner tuner(kHost);
      CHECK(product.run(tuner) == MatchKind::predicted);
    }
    const EnvironmentVariable no_compiler("CXX", "/nonexistent/c++");
    Autotuner tuner(kHost);
    CHECK(product.run(tuner) == MatchKind::predicted);
    GemmProblem transposed = kOdd;
    set_layout(transposed, "TT");
    Product other(transposed, 0, 1, 0);
    CHECK_THROWS_AS(other.run(tuner), EnvironmentError);
  }

  TEST_CASE("progress is reported, and a stop request ends the search") {
    const TemporaryStorage storage;
    std::stop_source source;
    TuningProgress last;
    TuningOptions options = kFewTrials;
    options.stop = source.get_token();
    options.progress = [&](const TuningProgress& progress) {
      last = progress;
      if (progress.done == 2) source.request_stop();
    };
    const TuningResult result = Autotuner(kHost).tune(kOdd, options);
    CHECK(result.measured >= 2);
    CHECK(result.measured < 6);
    CHECK_FALSE(result.complete);
    CHECK(last.total == 6);
    CHECK(last.best_us.has_value());
  }

  TEST_CASE("results that cannot be stored serve as long as the Autotuner lives") {
    const TemporaryStorage storage;
    const EnvironmentVariable nowhere("AUTOTUNE_DB", "/dev/null/autotune.db");
    Autotuner tuner(kHost);
    const TuningResult result = tuner.tune(kOdd, kFewTrials);
    CHECK(result.storage_problem != "");
    CHECK(tuner.best(kOdd).match == MatchKind::exact);
    CHECK(Autotuner(kHost).best(kOdd).match == MatchKind::predicted);
  }
}

}  // namespace
}  // namespace autotune::test
