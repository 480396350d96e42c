// A wrong call is reported before a device is used.
#include <doctest/doctest.h>

#include "autotune/autotuner.hpp"

#include "tests/app/api/temporary_storage.hpp"

namespace autotune::test {
namespace {

const AutotunerOptions kHost{.device = "host"};

struct Call {
  GemmProblem problem{.m = 2, .n = 3, .k = 4};
  float memory[12] = {};
  const float* a = memory;
  const float* b = memory;
  float* c = memory;
  std::int64_t lda = 4, ldb = 3, ldc = 3;
  CUstream_st* stream = nullptr;

  void check_refused(const std::string& message) {
    const TemporaryStorage storage;
    Autotuner tuner(kHost);
    CHECK_THROWS_WITH_AS(tuner.gemm(problem, 1, a, lda, b, ldb, 0, c, ldc, stream), message.c_str(),
                         UsageError);
  }
};

TEST_SUITE("wrong calls of gemm()") {
  TEST_CASE("sizes") {
    Call{.problem = {.m = 0, .n = 3, .k = 4}}.check_refused(
        "m is 0: it must be from 1 to 2147483647");
    Call{.problem = {.m = 2, .n = -3, .k = 4}}.check_refused(
        "n is -3: it must be from 1 to 2147483647");
    Call{.problem = {.m = 2, .n = 3, .k = 2147483648}}.check_refused(
        "k is 2147483648: it must be from 1 to 2147483647");
  }

  TEST_CASE("leading dimensions") {
    Call{.lda = 3}.check_refused("lda is 3: rows of 4 elements need 4 at least");
    Call{.ldb = 2}.check_refused("ldb is 2: rows of 3 elements need 3 at least");
    Call{.ldc = -1}.check_refused("ldc is -1: rows of 3 elements need 3 at least");
    Call transposed{.lda = 1};
    set_layout(transposed.problem, "TN");
    transposed.check_refused("lda is 1: rows of 2 elements need 2 at least");
  }

  TEST_CASE("pointers and streams") {
    Call{.a = nullptr}.check_refused("A is a null pointer");
    Call{.b = nullptr}.check_refused("B is a null pointer");
    Call{.c = nullptr}.check_refused("C is a null pointer");
    int anything = 0;
    Call{.stream = reinterpret_cast<CUstream_st*>(&anything)}.check_refused(
        "stream: the CPU device has none");
  }
}

TEST_SUITE("wrong use of an Autotuner") {
  TEST_CASE("devices") {
    const TemporaryStorage storage;
    const EnvironmentVariable no_driver("AUTOTUNE_LIBCUDA", "/nonexistent/libcuda.so.1");
    CHECK_THROWS_AS(Autotuner({.device = "first"}), UsageError);
    CHECK_THROWS_AS(Autotuner({.device = "0"}), EnvironmentError);
    CHECK(Autotuner().device_name().rfind("cpu: ", 0) == 0);
  }

  TEST_CASE("a file that is not a database") {
    const TemporaryStorage storage;
    const std::string file = storage.folder() / "notes.txt";
    std::ofstream(file) << "not a database, but long enough to be read as one; " << file;
    CHECK_THROWS_AS(Autotuner({.device = "host", .database = file}), StorageError);
    CHECK_NOTHROW(Autotuner({.device = "host", .database = storage.folder() / "none.db"}));
  }

  TEST_CASE("budgets and strategies") {
    const TemporaryStorage storage;
    Autotuner tuner(kHost);
    const GemmProblem problem{.m = 2, .n = 3, .k = 4};
    CHECK_THROWS_AS(tuner.tune(problem, {.budget_seconds = 0}), UsageError);
    CHECK_THROWS_AS(tuner.tune(problem, {.budget_trials = 0}), UsageError);
    CHECK_THROWS_AS(tuner.tune(problem, {.strategy = "guess"}), UsageError);
    CHECK_THROWS_AS(tuner.tune(problem, {.worker_program = "/nowhere/autotune"}), UsageError);
    CHECK_THROWS_AS(tuner.tune({.m = 1, .n = 1, .k = 0}), UsageError);
    CHECK_THROWS_AS(static_cast<void>(tuner.best({})), UsageError);
  }
}

}  // namespace
}  // namespace autotune::test
