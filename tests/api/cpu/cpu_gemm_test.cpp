// The embedded library end to end on the CPU device: real kernels, a real database.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/autotune.hpp"

#include "tests/api/cpu/small_problems.hpp"
#include "tests/api/temporary_storage.hpp"

namespace autotune::test {
namespace {

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

  MatchKind run(Library& library) {
    return library.gemm(problem, alpha, {a.data(), lda}, {b.data(), ldb}, beta, {c.data(), ldc});
  }
};

TEST_SUITE("embedding on the CPU device") {
  TEST_CASE("a tuned product is that of sequential multiply-adds, bit for bit") {
    const TemporaryStorage storage;
    Library library(kCpu);
    for (const GemmProblem& problem : {kOdd, kSmall}) {
      CAPTURE(to_string(problem));
      const TuningResult result = library.tune({problem}, kFewTrials);
      CHECK(result.measured == 6);
      CHECK(result.statuses.at("ok") == 6);
      CHECK(result.complete);
      CHECK(result.storage_problem == "");
      REQUIRE(result.problems.front().winner);
      CHECK(library.query(problem).configuration == result.problems.front().winner->configuration);
      for (const auto& [alpha, beta] : {std::pair{1.f, 0.f}, {-1.5f, 0.f}, {0.75f, 0.5f}}) {
        Product product(problem, 0, alpha, beta);
        CHECK(product.run(library) == MatchKind::exact);
        CHECK(product.c == product.expected);
      }
    }
  }

  TEST_CASE("each product of a batch is what it is alone, bit for bit") {
    const TemporaryStorage storage;
    Library library(kCpu);
    for (const Order order : {Order::row_major, Order::column_major}) {
      const GemmProblem alone{.m = 17, .n = 9, .k = 33, .order = order};
      GemmProblem batch = alone;
      batch.batch = 3;
      constexpr std::int64_t kStrideA = 17 * 33 + 5;
      constexpr std::int64_t kStrideC = 17 * 9 + 2;
      std::vector<float> a;
      std::vector<float> b;
      Product::fill(a, 3 * kStrideA, 1);
      Product::fill(b, 33 * 9, 2);
      for (const auto& [alpha, beta] : {std::pair{1.f, 0.f}, {2.f, -0.5f}, {0.f, 3.f}}) {
        CAPTURE(alpha);
        std::vector<float> c(3 * kStrideC, 4);
        std::vector<float> expected = c;
        for (std::size_t i = 0; i < 3; ++i) {
          library.gemm(alone, alpha, {a.data() + i * kStrideA}, {b.data()}, beta,
                       {expected.data() + i * kStrideC});
        }
        library.gemm(batch, alpha, {a.data(), 0, kStrideA}, {b.data(), 0, 0}, beta,
                     {c.data(), 0, kStrideC});
        CHECK(c == expected);
        std::vector<float> planned(3 * kStrideC, 4);
        library.plan(batch)(alpha, {a.data(), 0, kStrideA}, {b.data(), 0, 0}, beta,
                            {planned.data(), 0, kStrideC});
        CHECK(planned == expected);
      }
    }
    const GemmProblem tuned{.m = 17, .n = 9, .k = 33, .batch = 3};
    CHECK(library.tune({tuned}, kFewTrials).statuses.at("ok") == 6);
    CHECK(library.query(tuned).tuned_for == tuned);
  }

  TEST_CASE("all layouts, with rows further apart than they need be") {
    const TemporaryStorage storage;
    Library library(kCpu);
    for (const char* layout : {"NN", "NT", "TN", "TT"}) {
      CAPTURE(layout);
      GemmProblem problem = kSmall;
      set_layout(problem, layout);
      Product product(problem, 5, 2, -1);
      CHECK(product.run(library) == MatchKind::predicted);
      CHECK(product.c == product.expected);  // and what lies between the rows is as it was
    }
  }

  TEST_CASE("query() says how good the match is, and gemm() uses it") {
    const TemporaryStorage storage;
    Library library(kCpu);
    const BestConfiguration guess = library.query(kSmall);
    CHECK(guess.match == MatchKind::predicted);
    CHECK_FALSE(guess.median_us);
    Product product(kSmall, 0, 1, 0);
    CHECK(product.run(library) == MatchKind::predicted);

    library.tune({kOdd}, kFewTrials);
    CHECK(library.query(kSmall).match == MatchKind::predicted);  // that is too far away
    const GemmProblem similar{60, 30, 40};
    library.tune({similar}, kFewTrials);
    const BestConfiguration near = library.query(kSmall);
    CHECK(near.match == MatchKind::nearest_size);
    CHECK(near.tuned_for == similar);
    CHECK(near.explanation != "");
    CHECK(product.run(library) == MatchKind::nearest_size);  // the choice before is forgotten
    CHECK(product.c == product.expected);

    library.tune({kSmall}, kFewTrials);
    CHECK(library.query(kSmall).match == MatchKind::exact);
    CHECK(library.query(kSmall).median_us.value() > 0);
    CHECK(library.prepare(kSmall) == MatchKind::exact);
  }

  TEST_CASE("products of several threads do not disturb each other") {
    const TemporaryStorage storage;
    Library library(kCpu);
    std::vector<std::jthread> threads;
    std::vector<int> wrong(4);
    for (std::size_t thread = 0; thread < wrong.size(); ++thread) {
      threads.emplace_back([&library, &wrong, thread, size = static_cast<std::int64_t>(thread)] {
        for (std::int64_t i = 0; i < 20; ++i) {
          Product product({.m = 20 + size, .n = 9, .k = 5 + i % 3}, 1, 1, 1);
          product.run(library);
          if (product.c != product.expected) ++wrong[thread];
        }
      });
    }
    threads.clear();
    CHECK(wrong == std::vector<int>(4));
  }

  TEST_CASE("sixteen threads on two objects get right products, and each object compiles once") {
    const TemporaryStorage storage;
    const std::filesystem::path compiler = storage.folder() / "c++";
    const std::filesystem::path compiled = storage.folder() / "compiled";
    std::ofstream(compiler) << "#!/bin/sh\n[ $1 = --version ] && exec c++ $1\n"
                               "grep -q autotune_call_probe $TMPDIR/kernel.cu || echo >> "
                            << compiled << "\nexec c++ \"$@\"\n";
    std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
    ::setenv("CXX", compiler.c_str(), 1);
    Library libraries[] = {Library(kCpu), Library(kCpu)};
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < 16; ++thread) {
      threads.emplace_back([&, thread] {
        Product product(kSmall, 1, 1, 1);
        product.run(libraries[thread % 2]);
        wrong += product.c != product.expected;
      });
    }
    threads.clear();
    ::unsetenv("CXX");
    CHECK(wrong == 0);
    CHECK(std::filesystem::file_size(compiled) <= 2);
  }

  TEST_CASE("a process that the application forks may end without harm to it") {
    const TemporaryStorage storage;
    Library library(kCpu);
    library.tune({kOdd}, kFewTrials);
    const pid_t child = ::fork();
    if (child == 0) std::exit(0);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    Product product(kSmall, 0, 1, 0);
    product.run(library);
    CHECK(product.c == product.expected);
    CHECK(library.tune({kSmall}, kFewTrials).storage_problem == "");
    CHECK(Library(kCpu).tune({kSmall}, kFewTrials).measured == 0);
  }

  TEST_CASE("a process that was forked is told that it cannot use its parent's library") {
    const TemporaryStorage storage;
    Product product(kSmall, 0, 1, 0);
    const auto refused = [](const auto& call) {
      try {
        call();
      } catch (const UsageError& error) {
        return std::string(error.what()).find("forked") != std::string::npos;
      }
      return false;
    };
    auto library = std::make_unique<Library>(kCpu);
    product.run(*library);  // its threads, which a child does not have, have begun
    const Plan plan = library->plan(kSmall);
    const pid_t child = ::fork();
    if (child == 0) {
      bool right =
          refused([&] { product.run(*library); }) && refused([&] { library->tune({kSmall}); }) &&
          refused([&] { plan(1, {product.a.data()}, {product.b.data()}, 0, {product.c.data()}); });
      library.reset();
      Library own(kCpu);
      Product again(kSmall, 0, 1, 0);
      again.run(own);
      right = right && again.c == again.expected;
      ::_exit(right ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }

  TEST_CASE("column-major products, and those that only scale C") {
    const TemporaryStorage storage;
    Library library(kCpu);
    Product product(kSmall, 5, 2, -1);
    GemmProblem columns = kSmall;
    std::swap(columns.m, columns.n);
    columns.order = Order::column_major;
    library.gemm(columns, 2, {product.b.data(), product.ldb}, {product.a.data(), product.lda}, -1,
                 {product.c.data(), product.ldc});
    CHECK(product.c == product.expected);

    const float nan = std::nanf("");
    std::vector<float> unread(9, nan), c{1, 2, nan};
    library.gemm({1, 3, 3}, 0, {unread.data()}, {unread.data()}, 0, {c.data()});
    CHECK(c == std::vector<float>{0, 0, 0});
    c = {1, 2, 3};
    library.gemm({1, 3, 0}, 1, {}, {}, -2, {c.data()});
    CHECK(c == std::vector<float>{-2, -4, -6});
    library.plan({1, 3, 3})(0, {}, {}, 0.5f, {c.data()});
    CHECK(c == std::vector<float>{-1, -2, -3});
  }

  TEST_CASE("factors in memory, and a result beside C") {
    const TemporaryStorage storage;
    Library library(kCpu);
    for (const auto& [alpha, beta] :
         {std::pair{1.F, 0.F}, {2.F, -0.5F}, {0.F, 3.F}, {0.F, 1.F}, {0.F, 0.F}}) {
      CAPTURE(alpha);
      CAPTURE(beta);
      Product product(kSmall, 5, alpha, beta);
      const std::vector<float> before = product.c;
      const std::int64_t ldd = product.problem.n + 1;
      std::vector<float> d(static_cast<std::size_t>(product.problem.m * ldd), 9);
      const float factors[] = {alpha, beta};
      GemmArguments call{.a = {product.a.data(), product.lda},
                         .b = {product.b.data(), product.ldb},
                         .c = {product.c.data(), product.ldc},
                         .alpha_ptr = factors,
                         .beta_ptr = factors + 1,
                         .d = {d.data(), ldd}};
      library.gemm(product.problem, call);
      CHECK(product.c == before);
      const auto is_right = [&] {
        bool right = true;
        for (std::int64_t i = 0; i < product.problem.m * product.problem.n; ++i) {
          const std::int64_t row = i / product.problem.n;
          const std::int64_t column = i % product.problem.n;
          right &= d[static_cast<std::size_t>(row * ldd + column)] ==
                   product.expected[static_cast<std::size_t>(row * product.ldc + column)];
        }
        return right && d[static_cast<std::size_t>(product.problem.n)] == 9;
      };
      CHECK(is_right());
      d.assign(d.size(), 9);
      library.plan(product.problem, Alignment::any, PointerMode::device)(call);
      CHECK(is_right());
      d.assign(d.size(), 9);
      call.alpha_ptr = call.beta_ptr = nullptr;
      call.alpha = alpha;
      call.beta = beta;
      CHECK(library.try_gemm(product.problem, call) == Outcome::done);
      CHECK(is_right());
    }
  }

  TEST_CASE(
      "many problems are tuned at once, and what was missed is tuned where that is asked for") {
    const TemporaryStorage storage;
    Library library(kCpu);
    const GemmProblem columns{
        1, 7, 3, Transpose::none, Transpose::none, Math::strict, Order::column_major};
    const TuningResult result = library.tune({kOdd, kSmall, columns}, {.budget_trials = 12});
    REQUIRE(result.problems.size() == 3);
    for (const TunedProblem& tuned : result.problems) REQUIRE(tuned.winner);
    CHECK(result.problems[1].problem == kSmall);
    CHECK(result.problems[2].winner->configuration == result.problems[0].winner->configuration);
    CHECK(library.query(kSmall).match == MatchKind::exact);
    CHECK_THROWS_AS(library.tune({kOdd}, {.fresh = true,
                                          .progress =
                                              [&](const TuningProgress&) {
                                                library.tune({kOdd});
                                                return true;
                                              }}),
                    UsageError);

    Library eager({.device = Device::cpu(), .miss = MissPolicy::tune, .miss_budget_seconds = 5});
    Product product({.m = 9, .n = 8, .k = 7}, 1, 1, 1);
    CHECK(product.run(eager) == MatchKind::exact);
    CHECK(product.c == product.expected);
  }

  TEST_CASE("a kernel that was compiled once needs no compiler") {
    const TemporaryStorage storage;
    Product product(kOdd, 0, 1, 0);
    {
      Library library(kCpu);
      CHECK(product.run(library) == MatchKind::predicted);
    }
    const EnvironmentVariable no_compiler("CXX", "/nonexistent/c++");
    Library library(kCpu);
    CHECK(product.run(library) == MatchKind::predicted);
    GemmProblem transposed = kOdd;
    set_layout(transposed, "TT");
    Product other(transposed, 0, 1, 0);
    CHECK_THROWS_AS(other.run(library), EnvironmentError);
  }

  TEST_CASE("a compiled kernel that is damaged under an application is compiled anew, once") {
    const TemporaryStorage storage;
    const std::filesystem::path compiled = storage.folder() / "cache/autotune/cubins.db";
    const std::function<void()> damages[] = {
        [&] {
          SQLite::Database(compiled, SQLite::OPEN_READWRITE)
              .exec("UPDATE cubin SET body = zeroblob(length(body))");
        },
        [&] { std::ofstream(compiled, std::ios::in) << "overwritten, as far as this text goes"; }};
    Product product(kSmall, 0, 1, 0);
    std::string log;
    LibraryOptions logging = kCpu;
    logging.log = [&](LogLevel, const std::string& line) { log += line + "\n"; };
    const auto multiply = [&](Library& library) {
      log.clear();
      std::fill(product.c.begin(), product.c.end(), kUntouched);
      product.run(library);
      CHECK(product.c == product.expected);
      return log;
    };
    const auto has = [](const std::string& text, const char* part) {
      return text.find(part) != std::string::npos;
    };
    Library running(logging);
    CHECK(has(multiply(running), "was compiled in"));
    for (const auto& damage : damages) {
      damage();
      CHECK(multiply(running) == "");  // it has loaded its kernel
      Library next(logging);
      const std::string said = multiply(next);
      CHECK(has(said, "compiled kernels: "));
      CHECK(has(said, "was compiled in"));
      const EnvironmentVariable no_compiler("CXX", "/nonexistent/c++");
      Library last(logging);
      CHECK_FALSE(has(multiply(last), "compiled"));
    }
  }
}

}  // namespace
}  // namespace autotune::test
