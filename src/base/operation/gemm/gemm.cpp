#include "operation/gemm/gemm.hpp"

#include <algorithm>
#include <cmath>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"
#include "operation/gemm/reference_tile.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_gemm_kernels();

namespace {

// The rows and columns of C that a block of the reference kernels computes.
constexpr std::int64_t kReferenceTile = 64;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::vector<TensorDesc> tensors(const Problem& problem) {
  const GemmProblem gemm = gemm_problem(problem);
  const ElementType type = element_type_from_string(problem.trait("type"));
  const auto tensor = [&](const char* name, TensorRole role, std::int64_t rows,
                          std::int64_t columns) {
    return TensorDesc{name, role, type, rows, columns, columns};
  };
  const bool a_as_is = gemm.op_a == Transpose::none;
  const bool b_as_is = gemm.op_b == Transpose::none;
  return {tensor("a", TensorRole::input, a_as_is ? gemm.m : gemm.k, a_as_is ? gemm.k : gemm.m),
          tensor("b", TensorRole::input, b_as_is ? gemm.k : gemm.n, b_as_is ? gemm.n : gemm.k),
          tensor("c", TensorRole::output, gemm.m, gemm.n)};
}

Work work(const Problem& problem) {
  Work result{.operations = gemm_problem(problem).operations()};
  for (const TensorDesc& tensor : tensors(problem)) {
    result.bytes +=
        static_cast<double>(tensor.elements()) * static_cast<double>(size_bytes(tensor.type));
  }
  return result;
}

// The sum of the factors between the sizes, in octaves: 1 if one size is twice the other problem's.
double distance(const Problem& a, const Problem& b) {
  double octaves = 0;
  for (const char* size : {"m", "n", "k"}) {
    octaves +=
        std::abs(std::log2(static_cast<double>(a.size(size)) / static_cast<double>(b.size(size))));
  }
  return octaves;
}

std::vector<std::string> code_macros(const Problem& problem) {
  const GemmProblem gemm = gemm_problem(problem);
  const auto macro = [](const char* name, Transpose op) {
    return std::string(name) + (op == Transpose::transposed ? "=1" : "=0");
  };
  return {macro("TRANSPOSE_A", gemm.op_a), macro("TRANSPOSE_B", gemm.op_b)};
}

// The lesser of two bounds: one holds for every order of summation, and random rounding errors stay
// within the other almost certainly. Both allow for the store and at least one more rounding.
// Linear data is all of one sign, so its sums are rounded in one direction again and again; only
// the first bound holds for it.
double error_bound(const Problem& problem, InputData input) {
  const auto terms = static_cast<double>(problem.size("k"));
  const double any_order = terms + 3;
  return input == InputData::linear ? any_order : std::min(any_order, 4 + 4 * std::sqrt(terms));
}

std::vector<std::int64_t> reference_numbers(const Problem& problem) {
  const GemmProblem gemm = gemm_problem(problem);
  const bool a_as_is = gemm.op_a == Transpose::none;
  const bool b_as_is = gemm.op_b == Transpose::none;
  return {gemm.m,
          gemm.n,
          gemm.k,
          a_as_is ? gemm.lda() : 1,
          a_as_is ? 1 : gemm.lda(),
          b_as_is ? gemm.ldb() : 1,
          b_as_is ? 1 : gemm.ldb()};
}

std::int64_t reference_blocks(const Problem& problem) {
  return ceil_div(problem.size("m"), kReferenceTile) * ceil_div(problem.size("n"), kReferenceTile);
}

}  // namespace

Operation gemm_operation() {
  return {.name = kGemm,
          .tensors = tensors,
          .work = work,
          .distance = distance,
          .text = [](const Problem& problem) { return to_string(gemm_problem(problem)); },
          .scalars = {1, 0},
          .code_macros = code_macros,
          .error_bound = error_bound,
          .reference_source = embedded_gemm_kernels().front().text,
          .reference_numbers = reference_numbers,
          .reference_blocks = reference_blocks,
          .reference_tile = gemm_reference_tile};
}

KernelSignature gemm_signature(bool with_tensor_maps) {
  using enum ArgumentKind;
  KernelSignature signature = {{tensor, kGemmA},
                               {tensor, kGemmB},
                               {tensor, kGemmC},
                               {size, 0},
                               {size, 1},
                               {size, 2},
                               {row_stride, kGemmA},
                               {row_stride, kGemmB},
                               {row_stride, kGemmC},
                               {scalar, 0},
                               {scalar, 1},
                               {workspace},
                               {raster}};
  if (with_tensor_maps) {
    signature.push_back({tensor_map, kGemmA});
    signature.push_back({tensor_map, kGemmB});
  }
  return signature;
}

}  // namespace autotune
