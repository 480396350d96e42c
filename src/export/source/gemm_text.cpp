#include "export/source/gemm_text.hpp"

#include <fmt/format.h>

#include "operation/gemm/gemm.hpp"

namespace autotune {

OperationText gemm_source_text(const Problem& problem) {
  const GemmProblem gemm = gemm_problem(problem);
  const bool a_as_is = gemm.op_a == Transpose::none;
  const bool b_as_is = gemm.op_b == Transpose::none;
  return {.formula = fmt::format("C = alpha * {} * {} + beta * C", a_as_is ? "A" : "A^T",
                                 b_as_is ? "B" : "B^T"),
          .note = "With beta == 0 C is not read.",
          .scalars = {"alpha", "beta"},
          .batch = gemm.batch > 1 ? "batch" : "",
          .reference = fmt::format(R"(  double sum = 0;
  double magnitude = 0;
  for (int64_t i = 0; i < k; ++i) {{
    const double term = static_cast<double>({}) * {};
    sum += term;
    magnitude += std::fabs(term);
  }}
  const double before = static_cast<double>(beta) * c[row * ldc + column];
  return {{alpha * sum + before, std::fabs(alpha) * magnitude + std::fabs(before)}};)",
                                   a_as_is ? "a[row * lda + i]" : "a[i * lda + row]",
                                   b_as_is ? "b[i * ldb + column]" : "b[column * ldb + i]")};
}

}  // namespace autotune
