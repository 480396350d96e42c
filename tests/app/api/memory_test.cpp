// The library in an application that runs out of memory.
#include <new>

#include <doctest/doctest.h>

#include "tests/app/api/fake_machine.hpp"
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
}

}  // namespace autotune::test
