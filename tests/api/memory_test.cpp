// The library in an application that runs out of memory.
#include <new>
#include <stdexcept>

#include <doctest/doctest.h>

#include "autotune/autotune.h"

#include "tests/api/fake_machine.hpp"
#include "tests/support/failing_memory.hpp"

namespace autotune::test {

TEST_SUITE("Library without memory") {
  TEST_CASE("a product is computed or refused, and the next one is computed") {
    const Machine machine;
    fail_each_allocation(
        [] {
          Library library;
          const auto compute = [&] {
            library.gemm(kProblem, 1, {kMemory}, {kMemory}, 0, {kResult});
          };
          try {
            compute();
          } catch (const std::bad_alloc&) {
            compute();
          } catch (const Error&) {
            compute();
          }
        },
        [] {});
  }

  TEST_CASE("a call of the C API gives a status, and is right the next time") {
    const Machine machine;
    Machine::compile_both("gemm_simt", kProblem);
    fail_each_allocation(
        [] {
          const auto call = [](const auto& function) {
            const autotune_status status = function();
            if (status == AUTOTUNE_OK) return;
            // A kernel that the cubin store could not give would have to be compiled, and nothing
            // can. autotune_try_gemm() says of a launch that failed only that it is refused.
            const bool is_right = status == AUTOTUNE_NO_MEMORY || status == AUTOTUNE_ENVIRONMENT ||
                                  status == AUTOTUNE_REFUSED;
            const bool is_told = *autotune_last_error() != 0;
            if (!is_right || !is_told || function() != AUTOTUNE_OK) {
              throw std::logic_error("no right status");
            }
          };
          autotune_options options{};
          options.size = sizeof options;
          autotune_problem problem{};
          problem.size = sizeof problem;
          problem.m = kProblem.m;
          problem.n = kProblem.n;
          problem.k = kProblem.k;
          autotune_choice choice{};
          choice.size = sizeof choice;
          char name[64];
          autotune_library* library = nullptr;
          autotune_plan* plan = nullptr;
          autotune_prepared* prepared = nullptr;
          call([&] { return autotune_open(&options, &library); });
          call([&] { return autotune_device_name(library, name, sizeof name); });
          call([&] { return autotune_query(library, &problem, &choice); });
          call([&] { return autotune_prepare(library, &problem, nullptr); });
          autotune_gemm_call product{};
          product.size = sizeof product;
          product.problem = &problem;
          product.alpha = 1;
          product.a.data = product.b.data = kMemory;
          product.c.data = kResult;
          call([&] { return autotune_gemm(library, &product); });
          call([&] { return autotune_try_gemm(library, &product); });
          call([&] { return autotune_plan_create(library, &problem, 0, &plan); });
          call([&] { return autotune_plan_query(plan, &choice); });
          call([&] { return autotune_plan_run(plan, &product); });
          call([&] {
            return autotune_prepare_operand(library, &problem, AUTOTUNE_OPERAND_B, &product.b,
                                            nullptr, &prepared);
          });
          autotune_prepared_destroy(prepared);
          autotune_plan_destroy(plan);
          autotune_close(library);
        },
        [] {});
  }
}

}  // namespace autotune::test
