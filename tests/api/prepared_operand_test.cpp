// Operands that are prepared once, with a driver that logs its calls.
#include <memory>
#include <optional>

#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "tests/api/empty_kernels.hpp"
#include "tests/api/fake_machine.hpp"

namespace autotune::test {
namespace {

int count(const std::string& calls, const std::string& name) {
  int found = 0;
  for (std::size_t at = calls.find(name); at != std::string::npos; at = calls.find(name, at + 1)) {
    ++found;
  }
  return found;
}

TEST_SUITE("prepared operands") {
  TEST_CASE("what was prepared is not prepared again, for products of any other size") {
    const std::optional<std::string> image = empty_kernels();
    if (!image) return;
    const Machine machine;
    GemmProblem taller = kEmulated;
    taller.m = 4096;
    store_kernels(*image, kEmulated);
    store_kernels(*image, taller);
    Library library;
    const auto launches = [&](const GemmProblem& problem, const PreparedMatrix* a,
                              const PreparedMatrix* b) {
      static_cast<void>(machine.application.take_calls());
      library.gemm(problem, 1, {kMemory, 0, 0, a}, {kWeights, 0, 0, b}, 0, {kResult});
      return count(machine.application.take_calls(), "cuLaunchKernelEx");
    };
    CHECK(launches(kEmulated, nullptr, nullptr) == 2);
    std::optional<PreparedMatrix> weights =
        library.prepare_operand(kEmulated, Operand::b, {kWeights});
    const std::string calls = machine.application.take_calls();
    CHECK(count(calls, "cuLaunchKernelEx") == 1);
    CHECK(has(calls, "cuMemAlloc"));
    CHECK(weights->bytes() > 4 * 1024 * 1024);
    CHECK(launches(kEmulated, nullptr, &*weights) == 2);  // A's preparation, and the product
    CHECK(launches(taller, nullptr, &*weights) == 2);
    const PreparedMatrix inputs = library.prepare_operand(kEmulated, Operand::a, {kMemory});
    CHECK(launches(kEmulated, &inputs, &*weights) == 1);
    const PreparedMatrix nothing;
    CHECK(launches(kEmulated, &nothing, &*weights) == 2);

    const Plan plan = library.plan(kEmulated);
    static_cast<void>(machine.application.take_calls());
    plan(1, {kMemory, 0, 0, &inputs}, {kWeights, 0, 0, &*weights}, 0, {kResult}, nullptr,
         {kMemory, plan.workspace_bytes()});
    CHECK(count(machine.application.take_calls(), "cuLaunchKernelEx") == 1);
    weights.reset();
    CHECK(has(machine.application.take_calls(), "cuMemFree"));
  }

  TEST_CASE("a kernel has the shared memory for preparing each of its products, in any order") {
    const std::optional<std::string> image = empty_kernels();
    if (!image) return;
    const Machine machine;
    GemmProblem shallow = kEmulated, deep = kEmulated;
    shallow.k = 4096;
    deep.k = 6000;
    store_kernels(*image, shallow);
    store_kernels(*image, deep);
    Library library;
    // One kernel, which prepares more elements of K at a time for the second.
    REQUIRE(library.query(shallow).configuration == library.query(deep).configuration);
    const auto multiply = [&](const GemmProblem& problem) {
      library.gemm(problem, 1, {kMemory}, {kWeights}, 0, {kResult});
    };
    multiply(shallow);
    CHECK_NOTHROW(multiply(deep));
    GemmProblem another = shallow;
    another.m = 1020;
    store_kernels(*image, another);
    REQUIRE(library.query(another).configuration == library.query(deep).configuration);
    multiply(another);
    CHECK_NOTHROW(multiply(deep));
  }

  TEST_CASE("what was prepared for one math is prepared again for another") {
    const std::optional<std::string> image = empty_kernels();
    if (!image) return;
    const Machine machine;
    GemmProblem tf32 = kEmulated;
    tf32.math = Math::tf32;
    store_kernels(*image, kEmulated);
    store_kernels(*image, tf32);
    Library library;
    // Returns the launches of a product whose operands were prepared for another.
    const auto launches = [&](const GemmProblem& prepared_for, const GemmProblem& problem) {
      const PreparedMatrix a = library.prepare_operand(prepared_for, Operand::a, {kMemory});
      const PreparedMatrix b = library.prepare_operand(prepared_for, Operand::b, {kWeights});
      static_cast<void>(machine.application.take_calls());
      library.gemm(problem, 1, {kMemory, 0, 0, &a}, {kWeights, 0, 0, &b}, 0, {kResult});
      return count(machine.application.take_calls(), "cuLaunchKernelEx");
    };
    CHECK(launches(kEmulated, kEmulated) == 1);
    CHECK(launches(tf32, tf32) == 1);
    CHECK(launches(kEmulated, tf32) == 2);
    CHECK(launches(tf32, kEmulated) == 2);
    // Two planes, or one.
    const auto bytes = [&](const GemmProblem& problem) {
      return library.prepare_operand(problem, Operand::b, {kWeights}).bytes();
    };
    CHECK(bytes(kEmulated) - bytes(tf32) == 2 * 1024 * 1024);
  }

  TEST_CASE("in another context, and with kernels that prepare nothing, it does nothing") {
    const std::optional<std::string> image = empty_kernels();
    if (!image) return;
    const Machine machine;
    store_kernels(*image, kEmulated);
    Library library;
    const PreparedMatrix of_strict = library.prepare_operand(kProblem, Operand::b, {kMemory});
    CHECK(of_strict.bytes() == 0);
    CHECK_NOTHROW(library.gemm(kProblem, 1, {kMemory}, {kMemory, 0, 0, &of_strict}, 0, {kResult}));
    const PreparedMatrix weights = library.prepare_operand(kEmulated, Operand::b, {kWeights});
    machine.application.push_context(0, 7);
    library.prepare(kEmulated);
    static_cast<void>(machine.application.take_calls());
    library.gemm(kEmulated, 1, {kMemory}, {kWeights, 0, 0, &weights}, 0, {kResult});
    CHECK(count(machine.application.take_calls(), "cuLaunchKernelEx") == 2);
    machine.application.pop_context();
  }

  TEST_CASE("it is for the matrix that it was made of") {
    const Machine machine;
    Library library;
    const PreparedMatrix b = library.prepare_operand(kProblem, Operand::b, {kMemory});
    const auto refused = [&](const GemmProblem& problem, const Matrix& matrix) {
      CHECK_THROWS_WITH_AS(library.gemm(problem, 1, {kMemory}, matrix, 0, {kResult}),
                           doctest::Contains("B is not the matrix that was prepared"), UsageError);
    };
    refused(kProblem, {kMemory + 4, 0, 0, &b});
    refused(kProblem, {kMemory, 52, 0, &b});
    GemmProblem narrower = kProblem;
    narrower.n = 44;
    refused(narrower, {kMemory, 48, 0, &b});
    GemmProblem transposed = kProblem;
    transposed.n = transposed.k = 48;
    transposed.op_b = Transpose::transposed;
    refused(transposed, {kMemory, 48, 0, &b});
    // In column-major terms the same memory is A.
    const GemmProblem columns{.m = 48, .n = 64, .k = 32, .order = Order::column_major};
    CHECK_NOTHROW(library.gemm(columns, 1, {kMemory, 48, 0, &b}, {kMemory, 32}, 0, {kResult, 48}));
    CHECK_THROWS_WITH_AS(
        static_cast<void>(library.prepare_operand(kProblem, static_cast<Operand>(2), {kMemory})),
        "which is 2: it must be 0 or 1", UsageError);
    CHECK_THROWS_WITH_AS(static_cast<void>(library.prepare_operand(kProblem, Operand::a, {})),
                         "A is a null pointer", UsageError);
    GemmProblem batch = kProblem;
    batch.batch = 2;
    CHECK_THROWS_AS(static_cast<void>(library.prepare_operand(batch, Operand::a, {kMemory})),
                    UsageError);
  }

  TEST_CASE("memory that is not there is an error with the driver's code") {
    const std::optional<std::string> image = empty_kernels();
    if (!image) return;
    Machine machine;
    store_kernels(*image, kEmulated);
    Library library;
    machine.cuda.set_script("devices=2;attribute82=0;cuMemAlloc:2");
    try {
      static_cast<void>(library.prepare_operand(kEmulated, Operand::b, {kWeights}));
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.cuda_result() == 2);
    }
  }
}

}  // namespace
}  // namespace autotune::test
