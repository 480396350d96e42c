// A wrong call is reported before a device is used.
#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "tests/api/temporary_storage.hpp"

namespace autotune::test {
namespace {

const LibraryOptions kCpu{.device = Device::cpu()};

struct Call {
  const char* message;
  GemmProblem problem{.m = 2, .n = 3, .k = 4};
  float alpha = 1;
  int a = 0, b = 0, c = 0;  // bytes from where the matrix should begin; -1: it is null
  std::int64_t lda = 4, ldb = 3, ldc = 3;
  CUstream_st* stream = nullptr;
};

constexpr auto kTransposed = static_cast<Transpose>(1);
CUstream_st* const kSomeStream = reinterpret_cast<CUstream_st*>(64);

const Call kWrongCalls[] = {
    {.message = "m is -1: it must be from 0 to 2147483647", .problem = {.m = -1, .n = 3, .k = 4}},
    {.message = "n is -3: it must be from 0 to 2147483647", .problem = {.m = 2, .n = -3, .k = 4}},
    {.message = "k is 2147483648: it must be from 0 to 2147483647",
     .problem = {.m = 2, .n = 3, .k = 2147483648}},
    {.message = "op_a is 7: it must be 0 or 1",
     .problem = {.m = 2, .n = 3, .k = 4, .op_a = static_cast<Transpose>(7)}},
    {.message = "op_b is 2: it must be 0 or 1",
     .problem = {.m = 2, .n = 3, .k = 4, .op_b = static_cast<Transpose>(2)}},
    {.message = "math is 9: it must be from 0 to 2",
     .problem = {.m = 2, .n = 3, .k = 4, .math = static_cast<Math>(9)}},
    {.message = "order is 255: it must be 0 or 1",
     .problem = {.m = 2, .n = 3, .k = 4, .order = static_cast<Order>(255)}},
    {.message =
         "types: no kernel computes 'f32-bf16': use f32, the default, bf16, f16, bf16-f32 or "
         "f16-f32",
     .problem = {.m = 2, .n = 3, .k = 4, .types = {.c = ElementType::bf16}}},
    {.message = "types: 99 must be the number of a type, from 0 to 10",
     .problem = {.m = 2, .n = 3, .k = 4, .types = {.b = static_cast<ElementType>(99)}}},
    {.message = "types: no kernel computes 'f32-f32-f32-f64': use f32, the default, bf16, f16, "
                "bf16-f32 or "
                "f16-f32",
     .problem = {.m = 2, .n = 3, .k = 4, .types = {.accumulate = ElementType::f64}}},
    {.message = "lda is 3: rows of 4 elements need 4 at least", .lda = 3},
    {.message = "ldb is 2: rows of 3 elements need 3 at least", .ldb = 2},
    {.message = "ldc is -1: rows of 3 elements need 3 at least", .ldc = -1},
    {.message = "lda is 1: rows of 2 elements need 2 at least",
     .problem = {.m = 2, .n = 3, .k = 4, .op_a = kTransposed},
     .lda = 1},
    {.message = "lda is 1: columns of 2 elements need 2 at least",
     .problem = {.m = 2, .n = 3, .k = 4, .order = Order::column_major},
     .lda = 1},
    {.message = "ldb is 3: columns of 4 elements need 4 at least",
     .problem = {.m = 2, .n = 3, .k = 4, .order = Order::column_major},
     .ldb = 3},
    {.message = "A is a null pointer", .a = -1},
    {.message = "B is a null pointer", .b = -1},
    {.message = "C is a null pointer", .c = -1},
    {.message = "C is a null pointer", .problem = {.m = 2, .n = 3, .k = 0}, .c = -1},
    {.message = "A is not at a multiple of 4 bytes: its elements are f32", .a = 1},
    {.message = "B is not at a multiple of 4 bytes: its elements are f32", .b = 2},
    {.message = "C is not at a multiple of 4 bytes: its elements are f32", .c = 3},
    {.message = "C overlaps A", .c = -400},
    {.message = "C overlaps B", .c = -272},
    {.message = "stream: the CPU device has none", .stream = kSomeStream},
    {.message = "stream: the CPU device has none", .alpha = 0, .stream = kSomeStream},
};

TEST_SUITE("wrong use of a Library") {
  TEST_CASE("calls of gemm()") {
    const TemporaryStorage storage;
    Library library(kCpu);
    alignas(16) static float memory[192];  // A, B at 128 bytes behind it, C at 400
    for (const Call& call : kWrongCalls) {
      CAPTURE(call.message);
      const auto place = [&](int matrix, int offset) {
        return offset == -1 ? nullptr : reinterpret_cast<char*>(memory) + matrix + offset;
      };
      const auto* const a = reinterpret_cast<const float*>(place(0, call.a));
      const auto* const b = reinterpret_cast<const float*>(place(128, call.b));
      auto* const c = reinterpret_cast<float*>(place(400, call.c));
      CHECK_THROWS_WITH_AS(library.gemm(call.problem, call.alpha, {a, call.lda}, {b, call.ldb}, 0,
                                        {c, call.ldc}, call.stream),
                           call.message, UsageError);
      CHECK(library.try_gemm(
                call.problem,
                {call.alpha, {a, call.lda}, {b, call.ldb}, 0, {c, call.ldc}, call.stream}) ==
            Outcome::refused);
    }
  }

  TEST_CASE("matrices of another type than the problem's") {
    const TemporaryStorage storage;
    Library library(kCpu);
    static float memory[192];
    const GemmProblem problem{.m = 2, .n = 3, .k = 4};
    const GemmArguments right{.a = {memory}, .b = {memory + 32}, .c = {memory + 100}};
    const auto refuses = [&](const GemmArguments& call, const char* message) {
      CHECK_THROWS_WITH_AS(library.gemm(problem, call), message, UsageError);
      CHECK(library.try_gemm(problem, call) == Outcome::refused);
    };
    GemmArguments call = right;
    call.a = {memory, ElementType::bf16};
    refuses(call, "type of A: 'bf16' must be f32, as the problem's types have it");
    call = right;
    call.b.type = ElementType::i32;
    refuses(call, "type of B: 'i32' must be f32, as the problem's types have it");
    call = right;
    call.c = {memory + 100, ElementType::f64};
    refuses(call, "type of C: 'f64' must be f32, as the problem's types have it");
    call.c.type = static_cast<ElementType>(11);
    refuses(call, "type of C: 11 must be the number of a type, from 0 to 10");
    call = right;
    call.a.type = ElementType::f16;  // of a matrix that is not used
    call.alpha = 0;
    CHECK_NOTHROW(library.gemm(problem, call));
    CHECK_THROWS_WITH_AS(
        static_cast<void>(library.prepare_operand(problem, Operand::a, {memory, ElementType::f16})),
        "type of A: 'f16' must be f32, as the problem's types have it", UsageError);
  }

  TEST_CASE("factors in memory, and a result beside C") {
    const TemporaryStorage storage;
    Library library(kCpu);
    alignas(16) static float memory[192];
    const GemmProblem problem{.m = 2, .n = 3, .k = 4};
    const GemmArguments right{.a = {memory}, .b = {memory + 32}, .beta = 1, .c = {memory + 100}};
    const auto refuses = [&](const GemmProblem& of, const GemmArguments& call,
                             const char* message) {
      CHECK_THROWS_WITH_AS(library.gemm(of, call), message, UsageError);
      CHECK(library.try_gemm(of, call) == Outcome::refused);
    };
    GemmArguments call = right;
    call.alpha_ptr = memory + 150;
    refuses(problem, call, "alpha_ptr and beta_ptr: both must be given, or neither");
    call.beta_ptr = reinterpret_cast<const float*>(reinterpret_cast<const char*>(memory) + 602);
    refuses(problem, call, "alpha_ptr and beta_ptr must be at multiples of 4 bytes");
    call.beta_ptr = memory + 104;
    refuses(problem, call, "beta_ptr is an element of C: the result must not overlap it");
    call.c.ld = 5;  // between its rows
    CHECK_NOTHROW(library.gemm(problem, call));
    call.d = {memory + 146};
    refuses(problem, call, "alpha_ptr is an element of D: the result must not overlap it");
    call = right;
    call.d = {memory + 104};
    refuses(problem, call, "D overlaps C");
    call.d = {memory + 4};
    refuses(problem, call, "D overlaps A");
    call.d = {memory + 30};
    refuses(problem, call, "D overlaps B");
    call.d = {memory + 150, 2};
    refuses(problem, call, "ldd is 2: rows of 3 elements need 3 at least");
    call.d = {memory + 150, ElementType::f16};
    refuses(problem, call, "type of D: 'f16' must be f32, as the problem's types have it");
    call.d = {memory + 150};
    call.c.data = nullptr;
    refuses(problem, call, "C is a null pointer");
    call.beta = 0;  // C is not read
    CHECK_NOTHROW(library.gemm(problem, call));
    const GemmProblem batch{.m = 2, .n = 3, .k = 4, .batch = 2};
    call = right;
    call.d = {memory + 150};
    refuses(batch, call,
            "stride_d is 0: the matrices of D overlap, as 2 lines of 3 elements, 3 apart");
    call.d.stride = 6;
    CHECK_NOTHROW(library.gemm(batch, call));  // all products have the same C
  }

  TEST_CASE("matrices of a batch") {
    const TemporaryStorage storage;
    Library library(kCpu);
    static float memory[512];
    const GemmProblem batch{.m = 2, .n = 3, .k = 4, .batch = 3};
    struct Strides {
      const char* message;
      std::int64_t a, b, c, ldc;
    };
    const Strides wrong[] = {
        {"stride_a is -1: it must be from 0 to 192153584101141162 for 3 matrices", -1, 12, 6, 3},
        {"stride_b is 192153584101141163: it must be from 0 to 192153584101141162 for 3 matrices",
         8, 192153584101141163, 6, 3},
        {"stride_c is 0: the matrices of C overlap, as 2 lines of 3 elements, 3 apart", 8, 12, 0,
         3},
        {"stride_c is 5: the matrices of C overlap, as 2 lines of 3 elements, 3 apart", 8, 12, 5,
         3},
        {"stride_c is 3: the matrices of C overlap, as 2 lines of 3 elements, 8 apart", 8, 12, 3,
         8},
        {"C overlaps A", 100, 12, 6, 3},
    };
    for (const auto& [message, a, b, c, ldc] : wrong) {
      CAPTURE(message);
      CHECK_THROWS_WITH_AS(
          library.gemm(batch, 1, {memory, 4, a}, {memory + 50, 3, b}, 0, {memory + 200, ldc, c}),
          message, UsageError);
      CHECK(library.try_gemm(batch,
                             {1, {memory, 4, a}, {memory + 50, 3, b}, 0, {memory + 200, ldc, c}}) ==
            Outcome::refused);
    }
    GemmProblem negative = batch;
    negative.batch = -1;
    CHECK_THROWS_WITH_AS(library.gemm(negative, 1, {memory}, {memory}, 0, {memory}),
                         "batch is -1: it must be from 0 to 2147483647", UsageError);
    // Three products side by side in rows of 9.
    CHECK_NOTHROW(
        library.gemm(batch, 1, {memory, 4, 8}, {memory + 50, 3, 0}, 0, {memory + 200, 9, 3}));
    GemmProblem none = batch;
    none.batch = 0;
    CHECK_NOTHROW(library.gemm(none, 1, {}, {}, 0, {}));
  }

  TEST_CASE("matrices that are different columns of a larger one do not overlap") {
    const TemporaryStorage storage;
    Library library(kCpu);
    std::vector<float> memory(2 * 10, 1);
    float* const all = memory.data();  // two rows of A | B | C, each 3 wide, and one column more
    CHECK_THROWS_AS(library.gemm({2, 2, 2}, 1, {all, 10}, {all + 3, 10}, 0, {all + 1, 10}),
                    UsageError);
    library.gemm({2, 2, 2}, 1, {all, 10}, {all + 3, 10}, 0, {all + 6, 10});
    CHECK(library.try_gemm({2, 2, 2}, {1, {all, 10}, {all + 3, 10}, 0, {all + 6, 10}}) ==
          Outcome::done);
    CHECK(memory[6] == 2);
    CHECK(memory[8] == 1);
    CHECK(memory[17] == 2);
  }

  TEST_CASE("devices and options") {
    const TemporaryStorage storage;
    const EnvironmentVariable no_driver("AUTOTUNE_LIBCUDA", "/nonexistent/libcuda.so.1");
    for (const int number : {-1, -2, -3, -2147483647 - 1}) {
      CHECK_THROWS_WITH_AS(Library({.device = Device::gpu(number)}),
                           "device: the number of a GPU must be 0 or more, e.g. Device::gpu(0)",
                           UsageError);
    }
    CHECK_THROWS_AS(Library({.device = Device::gpu(0)}), EnvironmentError);
    CHECK_THROWS_AS(Library({.device = Device::cpu(), .miss = static_cast<MissPolicy>(4)}),
                    UsageError);
    CHECK_THROWS_AS(Library({.device = Device::cpu(), .miss_budget_seconds = 0}), UsageError);
    CHECK_THROWS_AS(Library({.device = Device::cpu(), .worker_program = "/nowhere/autotune"}),
                    UsageError);
    std::string warning;
    LibraryOptions options;
    options.log = [&](LogLevel level, const std::string& line) {
      if (level == LogLevel::warning) warning = line;
    };
    CHECK(Library(options).device_name().rfind("cpu: ", 0) == 0);
    CHECK(warning.find("using the CPU device") != std::string::npos);
  }

  TEST_CASE("a file that is not a database") {
    const TemporaryStorage storage;
    const std::string file = storage.folder() / "notes.txt";
    std::ofstream(file) << "not a database, but long enough to be read as one; " << file;
    CHECK_THROWS_AS(Library({.device = Device::cpu(), .database = file}), StorageError);
    CHECK_NOTHROW(Library({.device = Device::cpu(), .database = storage.folder() / "none.db"}));
  }

  TEST_CASE("calls of tune(), query() and plan()") {
    const TemporaryStorage storage;
    Library library(kCpu);
    const GemmProblem problem{2, 3, 4};
    CHECK_THROWS_AS(library.tune({problem}, {.budget_seconds = 0}), UsageError);
    CHECK_THROWS_AS(library.tune({problem}, {.budget_trials = 0}), UsageError);
    CHECK_THROWS_AS(library.tune({problem}, {.strategy = "guess"}), UsageError);
    CHECK_THROWS_AS(library.tune({problem, {1, 1, 0}}), UsageError);
    CHECK_THROWS_AS(library.tune({}), UsageError);
    CHECK_THROWS_AS(static_cast<void>(library.query({})), UsageError);
    CHECK_THROWS_AS(static_cast<void>(library.plan({-1, 1, 1})), UsageError);
    CHECK_THROWS_AS(static_cast<void>(library.plan(problem, static_cast<Alignment>(2))),
                    UsageError);
  }

  TEST_CASE("objects that were moved from, and empty plans") {
    const TemporaryStorage storage;
    Library library(kCpu);
    const Library moved = std::move(library);
    CHECK_THROWS_AS(static_cast<void>(library.device_name()), UsageError);
    CHECK_THROWS_AS(library.tune({{1, 1, 1}}), UsageError);
    const Plan plan;
    CHECK_THROWS_AS(static_cast<void>(plan.match()), UsageError);
    CHECK_THROWS_AS(plan(1, {}, {}, 0, {}), UsageError);
  }
}

}  // namespace
}  // namespace autotune::test
