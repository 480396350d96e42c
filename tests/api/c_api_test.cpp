// The C API: wrong calls and right ones.
#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/autotune.h"
#include "autotune/version.hpp"

#include "tests/api/c_caller.hpp"
#include "tests/api/temporary_storage.hpp"

namespace autotune::test {
namespace {

struct WrongCCall {
  const char* message;
  autotune_status status;
  std::function<autotune_status(Caller&)> call;
};

const WrongCCall kWrongCCalls[] = {
    {"library is a null pointer", AUTOTUNE_USAGE,
     [](Caller& c) { return autotune_open(&c.options, nullptr); }},
    {"options: size is 0: it must be sizeof, 112", AUTOTUNE_USAGE,
     [](Caller& c) { return c.options.size = 0, c.open(); }},
    {"options: size is 63: it must be sizeof, 112", AUTOTUNE_USAGE,
     [](Caller& c) { return c.options.size = 63, c.open(); }},
    {"options: size is 79: it must be sizeof, 112", AUTOTUNE_USAGE,
     [](Caller& c) { return c.options.size = 79, c.open(); }},
    {"bundle /nowhere/app.bundle: cannot be read: No such file or directory", AUTOTUNE_STORAGE,
     [](Caller& c) { return c.options.bundle = "/nowhere/app.bundle", c.open(); }},
    {"bundle and database exclude each other", AUTOTUNE_USAGE,
     [](Caller& c) {
       c.options.database = "some.db";
       return c.options.bundle = "/nowhere/app.bundle", c.open();
     }},
    {"device is 3: it must be from 0 to 2", AUTOTUNE_USAGE,
     [](Caller& c) { return c.options.device = 3, c.open(); }},
    {"device is -1: it must be from 0 to 2", AUTOTUNE_USAGE,
     [](Caller& c) { return c.options.device = -1, c.open(); }},
    {"gpu is 1: it must be a GPU's number, or 0", AUTOTUNE_USAGE,
     [](Caller& c) { return c.options.gpu = 1, c.open(); }},
    {"gpu is -1: it must be a GPU's number, or 0", AUTOTUNE_USAGE,
     [](Caller& c) {
       c.options.device = AUTOTUNE_DEVICE_GPU;
       return c.options.gpu = -1, c.open();
     }},
    {"no_shipped_winners is 2: it must be 0 or 1", AUTOTUNE_USAGE,
     [](Caller& c) { return c.options.no_shipped_winners = 2, c.open(); }},
    {"miss is 255: it must be from 0 to 3", AUTOTUNE_USAGE,
     [](Caller& c) { return c.options.miss = -1, c.open(); }},
    {"with MissPolicy::background worker_program must name the program autotune, e.g. "
     "/usr/bin/autotune: candidates run in processes of their own",
     AUTOTUNE_USAGE, [](Caller& c) { return c.options.miss = AUTOTUNE_MISS_BACKGROUND, c.open(); }},
    {"background_share is 1.5: it must be above 0 and at most 1, e.g. 0.05", AUTOTUNE_USAGE,
     [](Caller& c) { return c.options.background_share = 1.5, c.open(); }},
    {"max_workspace_bytes is -2: it must be -1 at least", AUTOTUNE_USAGE,
     [](Caller& c) { return c.options.max_workspace_bytes = -2, c.open(); }},
    {"allocator: allocate and release must be given both, or neither", AUTOTUNE_USAGE,
     [](Caller& c) {
       c.options.release = [](void*, void*, autotune_stream) {};
       return c.open();
     }},
    {"library is a null pointer", AUTOTUNE_USAGE,
     [](Caller&) { return autotune_stop_background(nullptr); }},
    {"miss_budget_seconds is -1: it must be above 0", AUTOTUNE_USAGE,
     [](Caller& c) { return c.options.miss_budget_seconds = -1, c.open(); }},
    {"worker_program is /nowhere: it must be the program autotune", AUTOTUNE_USAGE,
     [](Caller& c) { return c.options.worker_program = "/nowhere", c.open(); }},
    {"", AUTOTUNE_STORAGE,
     [](Caller& c) { return c.options.database = "/dev/null/a.db", c.open(); }},
    {"", AUTOTUNE_ENVIRONMENT,
     [](Caller& c) { return c.options.device = AUTOTUNE_DEVICE_GPU, c.open(); }},
    {"library is a null pointer", AUTOTUNE_USAGE,
     [](Caller& c) { return c.library = nullptr, c.gemm(); }},
    {"problem is a null pointer", AUTOTUNE_USAGE,
     [](Caller& c) { return c.call.problem = nullptr, c.gemm(); }},
    {"call is a null pointer", AUTOTUNE_USAGE,
     [](Caller& c) { return autotune_gemm(c.library, nullptr); }},
    {"call: size is 160: it must be sizeof, 224", AUTOTUNE_USAGE,
     [](Caller& c) { return c.call.size = 160, c.gemm(); }},
    {"a: reserved is 1: it must be 0", AUTOTUNE_USAGE,
     [](Caller& c) { return c.call.a.reserved = 1, c.gemm(); }},
    {"c: reserved is -1: it must be 0", AUTOTUNE_USAGE,
     [](Caller& c) { return c.call.c.reserved = -1, c.gemm(); }},
    {"type of B: 'bf16' must be f32, as the problem's types have it", AUTOTUNE_USAGE,
     [](Caller& c) { return c.call.b.type = AUTOTUNE_BF16, c.gemm(); }},
    {"type of C: 255 must be the number of a type, from 0 to 10", AUTOTUNE_USAGE,
     [](Caller& c) { return c.call.c.type = -1, c.gemm(); }},
    {"types: no kernel computes 'f32-f32-f64-f32': use f32, the default, bf16, f16, bf16-f32 or "
     "f16-f32",
     AUTOTUNE_USAGE, [](Caller& c) { return c.problem.type_c = AUTOTUNE_F64, c.gemm(); }},
    {"the workspace of 8 bytes is a null pointer", AUTOTUNE_USAGE,
     [](Caller& c) { return c.call.workspace_bytes = 8, c.gemm(); }},
    {"workspace_not_zeroed is 2: it must be 0 or 1", AUTOTUNE_USAGE,
     [](Caller& c) { return c.call.workspace_not_zeroed = 2, c.gemm(); }},
    {"call: size is 0: it must be sizeof, 224", AUTOTUNE_USAGE,
     [](Caller& c) { return c.call.size = 0, autotune_try_gemm(c.library, &c.call); }},
    {"the product is refused: autotune_gemm() says why", AUTOTUNE_REFUSED,
     [](Caller& c) { return c.call.b.ld = 2, autotune_try_gemm(c.library, &c.call); }},
    {"the product is not ready: call autotune_gemm() first", AUTOTUNE_NOT_READY,
     [](Caller& c) { return autotune_try_gemm(c.library, &c.call); }},
    {"problem is 2x3x4: the plan is for 0x3x4, so leave it NULL", AUTOTUNE_USAGE,
     [](Caller& c) { return autotune_plan_run(c.plan, &c.call); }},
    {"problem: size is 8: it must be sizeof, 72", AUTOTUNE_USAGE,
     [](Caller& c) { return c.problem.size = 8, c.gemm(); }},
    {"m is -1: it must be from 0 to 2147483647", AUTOTUNE_USAGE,
     [](Caller& c) { return c.problem.m = -1, c.gemm(); }},
    {"n is 2147483648: it must be from 0 to 2147483647", AUTOTUNE_USAGE,
     [](Caller& c) { return c.problem.n = 2147483648, c.gemm(); }},
    {"op_a is 2: it must be 0 or 1", AUTOTUNE_USAGE,
     [](Caller& c) { return c.problem.op_a = 2, c.gemm(); }},
    {"op_b is 255: it must be 0 or 1", AUTOTUNE_USAGE,
     [](Caller& c) { return c.problem.op_b = 256, c.gemm(); }},
    {"math is 7: it must be from 0 to 2", AUTOTUNE_USAGE,
     [](Caller& c) { return c.problem.math = 7, c.gemm(); }},
    {"order is 255: it must be 0 or 1", AUTOTUNE_USAGE,
     [](Caller& c) { return c.problem.order = -1, c.gemm(); }},
    {"A is a null pointer", AUTOTUNE_USAGE,
     [](Caller& c) { return c.call.a.data = nullptr, c.gemm(); }},
    {"lda is 3: rows of 4 elements need 4 at least", AUTOTUNE_USAGE,
     [](Caller& c) { return c.call.a.ld = 3, c.gemm(); }},
    {"ldb is -3: rows of 3 elements need 3 at least", AUTOTUNE_USAGE,
     [](Caller& c) { return c.call.b.ld = -3, c.gemm(); }},
    {"C overlaps A", AUTOTUNE_USAGE, [](Caller& c) { return c.call.c.data = c.a, c.gemm(); }},
    {"stream: the CPU device has none", AUTOTUNE_USAGE,
     [](Caller& c) { return c.call.stream = reinterpret_cast<autotune_stream>(64), c.gemm(); }},
    {"stream: the CPU device has none", AUTOTUNE_USAGE,
     [](Caller& c) {
       return autotune_prepare(c.library, &c.problem, reinterpret_cast<autotune_stream>(64));
     }},
    {"library is a null pointer", AUTOTUNE_USAGE,
     [](Caller& c) { return autotune_prepare(nullptr, &c.problem, nullptr); }},
    {"library is a null pointer", AUTOTUNE_USAGE,
     [](Caller&) { return autotune_release(nullptr, nullptr); }},
    {"library is a null pointer", AUTOTUNE_USAGE,
     [](Caller&) { return autotune_trim(nullptr, 0); }},
    {"flags is 4: it must be from 0 to 3", AUTOTUNE_USAGE,
     [](Caller& c) { return c.make_plan(4); }},
    {"plan is a null pointer", AUTOTUNE_USAGE,
     [](Caller& c) { return autotune_plan_create(c.library, &c.problem, 0, nullptr); }},
    {"plan is a null pointer", AUTOTUNE_USAGE, [](Caller& c) { return c.plan = nullptr, c.run(); }},
    {"ldc is 2: rows of 3 elements need 3 at least", AUTOTUNE_USAGE,
     [](Caller& c) { return c.call.c.ld = 2, c.run(); }},
    {"bytes is a null pointer", AUTOTUNE_USAGE,
     [](Caller& c) { return autotune_plan_workspace_bytes(c.plan, nullptr); }},
    {"choice is a null pointer", AUTOTUNE_USAGE,
     [](Caller& c) { return autotune_plan_query(c.plan, nullptr); }},
    {"choice: size is 16: it must be sizeof, 984", AUTOTUNE_USAGE,
     [](Caller& c) {
       return c.choice.size = 16, autotune_query(c.library, &c.problem, &c.choice);
     }},
    {"0x3x4 has nothing to multiply", AUTOTUNE_USAGE,
     [](Caller& c) { return c.problem.m = 0, autotune_query(c.library, &c.problem, &c.choice); }},
    {"max_error is 0: it must be above 0 and below 1", AUTOTUNE_USAGE,
     [](Caller& c) { return autotune_query_within(c.library, &c.problem, 0, &c.choice); }},
    {"name is a null pointer", AUTOTUNE_USAGE,
     [](Caller& c) { return autotune_device_name(c.library, nullptr, 8); }},
    {"size is 0: there is no room for a name", AUTOTUNE_USAGE,
     [](Caller& c) { return autotune_device_name(c.library, reinterpret_cast<char*>(c.a), 0); }},
    {"tune() was given no problem", AUTOTUNE_USAGE, [](Caller& c) { return c.tune(0); }},
    {"problems is a null pointer", AUTOTUNE_USAGE,
     [](Caller& c) { return autotune_tune(c.library, nullptr, 1, nullptr, nullptr); }},
    {"budget_seconds is -1: it must be above 0", AUTOTUNE_USAGE,
     [](Caller& c) { return c.tuning.budget_seconds = -1, c.tune(); }},
    {"budget_trials is -5: it must be 1 at least", AUTOTUNE_USAGE,
     [](Caller& c) { return c.tuning.budget_trials = -5, c.tune(); }},
    {"fresh is 3: it must be 0 or 1", AUTOTUNE_USAGE,
     [](Caller& c) { return c.tuning.fresh = 3, c.tune(); }},
    {"result: size is 1: it must be sizeof, 40", AUTOTUNE_USAGE,
     [](Caller& c) { return c.result.size = 1, c.tune(); }},
};

TEST_SUITE("C API") {
  TEST_CASE("wrong calls") {
    const TemporaryStorage storage;
    const EnvironmentVariable no_driver("AUTOTUNE_LIBCUDA", "/nonexistent/libcuda.so.1");
    Caller right;
    REQUIRE(autotune_open(&right.options, &right.library) == AUTOTUNE_OK);
    right.problem.m = 0;  // a plan that needs no compiler
    REQUIRE(autotune_plan_create(right.library, &right.problem, 0, &right.plan) == AUTOTUNE_OK);
    right.problem.m = 2;
    CHECK(std::size(kWrongCCalls) >= 40);
    for (const WrongCCall& wrong : kWrongCCalls) {
      CAPTURE(wrong.message);
      Caller caller;
      caller.library = right.library;
      caller.plan = right.plan;
      CHECK(wrong.call(caller) == wrong.status);
      const std::string error = autotune_last_error();
      CHECK(error != "");
      if (*wrong.message != 0) CHECK(error == wrong.message);
    }
    CHECK(right.open() == AUTOTUNE_OK);
    autotune_plan_destroy(right.plan);
    autotune_close(right.library);
  }

  TEST_CASE("a batch, and structures from before there were batches") {
    const TemporaryStorage storage;
    const autotune_options options = cpu_options();
    autotune_library* library = nullptr;
    REQUIRE(autotune_open(&options, &library) == AUTOTUNE_OK);
    const float a[] = {1, 2, 3, 4};
    const float b[] = {10};
    float c[] = {0, 0, 0, 0};
    autotune_problem problem = problem_of(2, 1, 1);
    problem.batch = 2;
    autotune_gemm_call call = call_of(&problem, a, b, c);
    call.a.stride = 2;
    CHECK(autotune_gemm(library, &call) == AUTOTUNE_USAGE);  // the stride of C is 0
    call.c.stride = 2;
    CHECK(autotune_gemm(library, &call) == AUTOTUNE_OK);
    CHECK(std::vector<float>(c, c + 4) == std::vector<float>{10, 20, 30, 40});
    autotune_plan* plan = nullptr;
    REQUIRE(autotune_plan_create(library, &problem, 0, &plan) == AUTOTUNE_OK);
    call.alpha = 2;
    CHECK(autotune_plan_run(plan, &call) == AUTOTUNE_OK);
    CHECK(c[3] == 80);
    CHECK(autotune_try_gemm(library, &call) == AUTOTUNE_OK);
    autotune_plan_destroy(plan);

    problem.size = offsetof(autotune_problem, batch);  // what lies there is the caller's
    call = call_of(&problem, a, b, c);
    CHECK(autotune_gemm(library, &call) == AUTOTUNE_OK);
    CHECK(c[1] == 20);
    for (; problem.size <= sizeof problem; problem.size += sizeof(void*)) {
      problem.batch = 1;
      CHECK(autotune_gemm(library, &call) == AUTOTUNE_OK);
    }
    problem.size = offsetof(autotune_problem, batch);
    autotune_choice choice{};
    choice.size = offsetof(autotune_choice, tuned_batch);
    choice.tuned_batch = -7;
    CHECK(autotune_query(library, &problem, &choice) == AUTOTUNE_OK);
    CHECK(choice.tuned_batch == -7);
    choice.size = sizeof choice;
    problem = problem_of(2, 1, 1);
    problem.batch = 5;
    CHECK(autotune_query(library, &problem, &choice) == AUTOTUNE_OK);
    CHECK(choice.tuned_batch == 5);
    autotune_close(library);
  }

  TEST_CASE("an operand is prepared, used by both kinds of calls, and destroyed") {
    const TemporaryStorage storage;
    const autotune_options options = cpu_options();
    autotune_library* library = nullptr;
    REQUIRE(autotune_open(&options, &library) == AUTOTUNE_OK);
    const autotune_problem problem = problem_of(2, 1, 1);
    const float a[] = {1, 2};
    const float b[] = {10};
    float c[] = {0, 0};
    autotune_gemm_call call = call_of(&problem, a, b, c);
    autotune_prepared* prepared = nullptr;
    const auto prepare = [&](std::int32_t which, autotune_prepared** result) {
      return autotune_prepare_operand(library, &problem, which, &call.b, nullptr, result);
    };
    CHECK(prepare(2, &prepared) == AUTOTUNE_USAGE);
    CHECK(prepare(AUTOTUNE_OPERAND_B, nullptr) == AUTOTUNE_USAGE);
    REQUIRE(prepare(AUTOTUNE_OPERAND_B, &prepared) == AUTOTUNE_OK);
    call.b.prepared = prepared;
    std::int32_t match = -1;
    call.match = &match;
    CHECK(autotune_gemm(library, &call) == AUTOTUNE_OK);
    CHECK(match == AUTOTUNE_PREDICTED);
    CHECK(c[1] == 20);
    autotune_plan* plan = nullptr;
    REQUIRE(autotune_plan_create(library, &problem, 0, &plan) == AUTOTUNE_OK);
    call.alpha = 2;
    call.problem = nullptr;
    match = -1;
    CHECK(autotune_plan_run(plan, &call) == AUTOTUNE_OK);
    CHECK(match == AUTOTUNE_PREDICTED);
    CHECK(c[1] == 40);
    autotune_plan_destroy(plan);
    autotune_prepared_destroy(prepared);
    autotune_prepared_destroy(nullptr);
    autotune_close(library);
  }

  TEST_CASE("a plan tells of its configuration what a query tells") {
    const TemporaryStorage storage;
    Caller caller;
    REQUIRE(autotune_open(&caller.options, &caller.library) == AUTOTUNE_OK);
    caller.tuning.budget_trials = 1;
    REQUIRE(caller.tune() == AUTOTUNE_OK);
    caller.problem = problem_of(3, 4, 5);  // the nearest that is known is 2x3x4
    REQUIRE(autotune_plan_create(caller.library, &caller.problem, 0, &caller.plan) == AUTOTUNE_OK);
    autotune_choice planned{};
    planned.size = sizeof planned;
    CHECK(autotune_query(caller.library, &caller.problem, &caller.choice) == AUTOTUNE_OK);
    CHECK(autotune_plan_query(caller.plan, &planned) == AUTOTUNE_OK);
    CHECK(planned.match == AUTOTUNE_NEAREST_SIZE);
    CHECK(planned.median_us > 0);
    CHECK(std::memcmp(&planned, &caller.choice, sizeof planned) == 0);
    autotune_plan_destroy(caller.plan);
    autotune_close(caller.library);
  }

  TEST_CASE("a product that only scales C needs no compiler") {
    const TemporaryStorage storage;
    const autotune_options options = cpu_options();
    autotune_library* library = nullptr;
    REQUIRE(autotune_open(&options, &library) == AUTOTUNE_OK);
    const autotune_problem problem = problem_of(1, 2, 0);
    float c[] = {4, 6};
    std::int32_t match = -1;
    autotune_gemm_call call = call_of(&problem, nullptr, nullptr, c);
    call.beta = 0.5f;
    call.match = &match;
    CHECK(autotune_gemm(library, &call) == AUTOTUNE_OK);
    CHECK(match == AUTOTUNE_EXACT);
    CHECK(c[0] == 2);
    CHECK(c[1] == 3);
    autotune_close(library);
  }

  TEST_CASE("the version is that of the library") {
    const std::string text = std::to_string(autotune_version() / 10000) + "." +
                             std::to_string(autotune_version() / 100 % 100) + "." +
                             std::to_string(autotune_version() % 100);
    CHECK(text == kVersion);
  }
}

}  // namespace
}  // namespace autotune::test
