// Operands that are prepared once, on a real GPU: results are those of products that prepare both
// operands, bit for bit.
#include <vector>

#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "tests/api/temporary_storage.hpp"
#include "tests/device_runtime/device_numbers.hpp"

namespace autotune::test {
namespace {

GemmProblem problem_of(const char* layout, Math math) {
  GemmProblem problem{.m = 1500, .n = 1100, .k = 1030, .math = math};
  set_layout(problem, layout);
  return problem;
}

void check_same_bits(Library& library, const char* layout, Math math) {
  const GemmProblem problem = problem_of(layout, math);
  CAPTURE(layout);
  CAPTURE(to_string(problem));
  const Numbers a(problem.m * problem.k, 0, 1);
  const Numbers b(problem.k * problem.n, 0, 2);
  const Numbers c(problem.m * problem.n, 0, 3);
  const auto product = [&](const PreparedMatrix* of_a, const PreparedMatrix* of_b) {
    c.reset();
    library.gemm(problem, 1.5F, {a.begin, 0, 0, of_a}, {b.begin, 0, 0, of_b}, 0.5F, {c.begin});
    return c.values();
  };
  const std::vector<float> expected = product(nullptr, nullptr);
  const PreparedMatrix of_a = library.prepare_operand(problem, Operand::a, {a.begin});
  const PreparedMatrix of_b = library.prepare_operand(problem, Operand::b, {b.begin});
  const std::string kernel = library.plan(problem).kernel();
  if (kernel == "gemm_fp16x3" || kernel == "gemm_fp16x1") CHECK(of_a.bytes() > 0);
  CHECK(product(nullptr, &of_b) == expected);
  CHECK(product(&of_a, nullptr) == expected);
  CHECK(product(&of_a, &of_b) == expected);
  // Another product on the stream in between uses the same workspace.
  const GemmProblem other{.m = 700, .n = 900, .k = 1000, .math = math};
  const Numbers to(other.m * other.n, 0, 4);
  library.gemm(other, 1, {a.begin}, {b.begin}, 0, {to.begin});
  CHECK(product(&of_a, &of_b) == expected);
  // An operand that was prepared for another math is prepared again.
  GemmProblem of_other_math = problem;
  of_other_math.math = math == Math::emulated ? Math::tf32 : Math::emulated;
  const PreparedMatrix for_other = library.prepare_operand(of_other_math, Operand::b, {b.begin});
  CHECK(product(&of_a, &for_other) == expected);
}

TEST_SUITE("prepared operands in an application") {
  TEST_CASE("results are the same bit for bit") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    Library library;
    for (const char* layout : {"NN", "NT", "TN", "TT"}) {
      for (const Math math : {Math::emulated, Math::tf32}) check_same_bits(library, layout, math);
    }
  }

  TEST_CASE("products of other sizes use the same weights") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    Library library;
    GemmProblem problem{.m = 1024, .n = 2048, .k = 1024, .math = Math::emulated};
    const Numbers a(4096 * problem.k, 0, 1);
    const Numbers b(problem.k * problem.n, 0, 2);
    const Numbers c(4096 * problem.n, 0, 3);
    const PreparedMatrix weights = library.prepare_operand(problem, Operand::b, {b.begin});
    for (const std::int64_t m : {4096, 1024, 777, 64, 1}) {
      CAPTURE(m);
      problem.m = m;
      library.gemm(problem, 1, {a.begin}, {b.begin}, 0, {c.begin});
      const std::vector<float> expected = c.values();
      c.reset();
      library.gemm(problem, 1, {a.begin}, {b.begin, 0, 0, &weights}, 0, {c.begin});
      std::vector<float> result = c.values();
      result.resize(static_cast<std::size_t>(m * problem.n));
      std::vector<float> first = expected;
      first.resize(result.size());
      CHECK(result == first);
    }
  }
}

}  // namespace
}  // namespace autotune::test
