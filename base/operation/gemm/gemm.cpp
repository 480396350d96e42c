#include "operation/gemm/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"
#include "core/posix/no_fork.hpp"

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
  const auto tensor = [&](const char* name, TensorRole role, ElementType type, std::int64_t rows,
                          std::int64_t columns) {
    return TensorDesc{name, role, type, rows, columns, columns, gemm.batch, rows * columns};
  };
  const bool a_as_is = gemm.op_a == Transpose::none;
  const bool b_as_is = gemm.op_b == Transpose::none;
  const GemmTypes& types = gemm.types;
  return {
      tensor("a", TensorRole::input, types.a, a_as_is ? gemm.m : gemm.k, a_as_is ? gemm.k : gemm.m),
      tensor("b", TensorRole::input, types.b, b_as_is ? gemm.k : gemm.n, b_as_is ? gemm.n : gemm.k),
      tensor("c", TensorRole::output, types.c, gemm.m, gemm.n)};
}

Work work(const Problem& problem) {
  Work result{.operations = gemm_problem(problem).operations()};
  for (const TensorDesc& tensor : tensors(problem)) result.bytes += tensor.volume();
  return result;
}

// The sum of the factors between the sizes, in octaves: 1 if one size is twice the other problem's.
double distance(const Problem& a, const Problem& b) {
  const auto octaves = [](std::int64_t x, std::int64_t y) {
    return std::abs(std::log2(static_cast<double>(x) / static_cast<double>(y)));
  };
  double sum = octaves(batch_of(a), batch_of(b));
  for (const char* size : {"m", "n", "k"}) sum += octaves(a.size(size), b.size(size));
  return sum;
}

std::vector<std::string> code_macros(const Problem& problem) {
  const GemmProblem gemm = gemm_problem(problem);
  const auto macro = [](const char* name, Transpose op) {
    return std::string(name) + (op == Transpose::transposed ? "=1" : "=0");
  };
  std::vector<std::string> macros = {macro("TRANSPOSE_A", gemm.op_a),
                                     macro("TRANSPOSE_B", gemm.op_b)};
  // Without the macros the code and its options are those for one product.
  if (gemm.batch > 1) macros.emplace_back("BATCHED=1");
  if (gemm.math == Math::tf32) macros.emplace_back("MATH_TF32=1");
  if (gemm.types != GemmTypes()) {
    const auto element = [&](const char* name, ElementType type) {
      macros.push_back(fmt::format("ELEMENT_{}={}", name, info(type).cuda_name));
    };
    element("A", gemm.types.a);
    element("B", gemm.types.b);
    element("C", gemm.types.c);
    element("ACC", gemm.types.accumulate);
  }
  return macros;
}

bool is_16_bit(ElementType type) {
  return type == ElementType::bf16 || type == ElementType::f16;
}

// The error of a sum, in units of FP32's roundoff and relative to the sum of the terms' absolute
// values: the lesser of two bounds. One holds for every order of summation, and random rounding
// errors stay within the other almost certainly. Both allow for the store and at least one more
// rounding. Linear data is all of one sign, so its sums are rounded in one direction again and
// again; only the first bound holds for it.
//
// TF32 operands have relative errors of at most 2^-11, two of which add up in a product: 2^14 units
// of 2^-24. The errors of random operands cancel out: eight standard deviations of their sum are
// less than 2^17 / sqrt(K). Products of 16-bit operands are exact, but tensor cores cut sums off
// where FP32 rounds: a step's error is up to twice as large.
double sum_bound(const GemmProblem& gemm, InputData input) {
  const auto terms = static_cast<double>(gemm.k);
  const bool is_tf32 = gemm.math == Math::tf32 && !is_16_bit(gemm.types.a);
  const double a_step = is_16_bit(gemm.types.a) ? 2 : 1;
  const double any_order = a_step * terms + 3 + (is_tf32 ? 0x1p14 : 0);
  if (input == InputData::linear) return any_order;
  const double random_operands = is_tf32 ? 0x1p17 / std::sqrt(terms) : 0;
  return std::min(any_order, 4 + 4 * a_step * std::sqrt(terms) + random_operands);
}

// FP32's roundoff in units of C's.
double sum_unit(const GemmTypes& types) {
  return info(types.accumulate).unit_roundoff / info(types.c).unit_roundoff;
}

// The bound for random data in 2^-30 of the units of C, where C has 16 bits; otherwise 0. The
// reference adds so much of the terms' absolute values to the result's own magnitude, which the
// last rounding is relative to: where terms cancel out, that is much less.
std::int64_t sum_units(const GemmProblem& gemm) {
  if (!is_16_bit(gemm.types.c)) return 0;
  const double bound = sum_bound(gemm, InputData::uniform) * sum_unit(gemm.types);
  return static_cast<std::int64_t>(std::ceil(0x1p30 * bound));
}

// In units of C's type, relative to the magnitudes that the reference has.
double error_bound(const Problem& problem, InputData input) {
  const GemmProblem gemm = gemm_problem(problem);
  const double sums = sum_bound(gemm, input);
  const double unit = sum_unit(gemm.types);
  if (unit == 1) return sums;
  if (sum_units(gemm) == 0) return 1 + sums * unit;
  // Linear data has sums as large as their magnitudes, so that the whole error is relative to them.
  constexpr double kOneRounding = 1.01;  // of a result with an error
  return kOneRounding * (input == InputData::linear ? 1 + sums * unit : 1);
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
          b_as_is ? 1 : gemm.ldb(),
          gemm.batch,
          sum_units(gemm)};
}

std::int64_t reference_blocks(const Problem& problem) {
  const std::int64_t tiles =
      ceil_div(problem.size("m"), kReferenceTile) * ceil_div(problem.size("n"), kReferenceTile);
  // Blocks take the tiles of several products in turn where a grid cannot have as many.
  return std::min<std::int64_t>(tiles * batch_of(problem),
                                std::numeric_limits<std::int32_t>::max());
}

}  // namespace

const Operation& gemm_operation() {
  const NoFork until_made;
  // Never destroyed, like all statics here: an application may multiply in its last destructors.
  static const Operation& operation = *new Operation{
      .name = kGemm,
      .tensors = tensors,
      .work = work,
      .distance = distance,
      .text = [](const Problem& problem) { return to_string(gemm_problem(problem)); },
      .scalars = {1, 0},
      .code_macros = code_macros,
      .error_bound = error_bound,
      .reference_source = embedded_gemm_kernels().front().text,
      .reference_numbers = reference_numbers,
      .reference_blocks = reference_blocks};
  return operation;
}

bool are_computed(const GemmTypes& types) {
  if (types == GemmTypes()) return true;
  return is_16_bit(types.a) && types.b == types.a &&
         (types.c == types.a || types.c == ElementType::f32) &&
         types.accumulate == ElementType::f32;
}

// The last size, of a problem that has one more than a product.
std::int64_t batch_of(const Problem& problem) {
  return problem.sizes().size() > 3 ? problem.sizes().back().value : 1;
}

KernelSignature gemm_signature(const Problem& problem, bool with_tensor_maps) {
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
  const auto append = [&](const KernelSignature& more) {
    signature.insert(signature.end(), more.begin(), more.end());
  };
  if (with_tensor_maps) append({{tensor_map, kGemmA}, {tensor_map, kGemmB}});
  if (batch_of(problem) > 1) {
    append({{size, 3}, {matrix_stride, kGemmA}, {matrix_stride, kGemmB}, {matrix_stride, kGemmC}});
  }
  return signature;
}

}  // namespace autotune
