#include "operation/gemm/reference_tile.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

// Eight neighbouring columns, multiplied at once.
constexpr std::int64_t kLanes = 8;
using Eight = double __attribute__((vector_size(kLanes * sizeof(double))));

// A part is at most kSide x kSide, and kDepth of K are processed at a time, so that all operands
// stay in the cache.
constexpr std::int64_t kSide = ReferenceTile::kSide;
constexpr std::int64_t kDepth = 128;
constexpr std::int64_t kGroups = kSide / kLanes;

// The operands and sums of one part.
struct Workspace {
  double a[kSide][kDepth];
  Eight b[kGroups][kDepth];
  Eight b_magnitudes[kGroups][kDepth];
  Eight sums[kGroups][kSide];
  Eight magnitudes[kGroups][kSide];
};

// An operand without padding, as it is in memory. Its lines are rows of op(A) or columns of op(B).
struct OperandView {
  const void* data;
  ElementType type;
  std::int64_t line_step;  // elements from one line to the next
  std::int64_t k_step;     // elements from one k to the next

  [[nodiscard]] double at(std::int64_t line, std::int64_t k) const {
    const std::int64_t place = line * line_step + k * k_step;
    if (type == ElementType::f32)
      return static_cast<double>(static_cast<const float*>(data)[place]);
    return load_element(type, static_cast<const std::byte*>(data) + place * size_bytes(type));
  }
};

void load(Workspace& work, const OperandView& a, const OperandView& b, const Rectangle& part,
          std::int64_t first_k, std::int64_t depth) {
  for (std::int64_t row = 0; row < part.rows; ++row) {
    for (std::int64_t k = 0; k < depth; ++k) work.a[row][k] = a.at(part.row + row, first_k + k);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t column = 0; column < part.columns; ++column) {
      const double value = b.at(part.column + column, first_k + k);
      work.b[column / kLanes][k][column % kLanes] = value;
      work.b_magnitudes[column / kLanes][k][column % kLanes] = std::fabs(value);
    }
  }
}

void multiply(Workspace& work, std::int64_t groups, std::int64_t rows, std::int64_t depth,
              bool with_magnitudes) {
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t row = 0; row < rows; ++row) {
      Eight sum = work.sums[group][row];
      for (std::int64_t k = 0; k < depth; ++k) sum += work.a[row][k] * work.b[group][k];
      work.sums[group][row] = sum;
      if (!with_magnitudes) continue;
      Eight magnitude = work.magnitudes[group][row];
      for (std::int64_t k = 0; k < depth; ++k) {
        magnitude += std::fabs(work.a[row][k]) * work.b_magnitudes[group][k];
      }
      work.magnitudes[group][row] = magnitude;
    }
  }
}

// Appends the results of a part of one product.
void append(const OperandView& a, const OperandView& b, const Rectangle& part, std::int64_t k,
            bool with_magnitudes, ReferenceTile& result) {
  // It is too large for a stack, and for thread-local memory, which every thread of an application
  // would pay for.
  const auto memory = std::make_unique<Workspace>();
  Workspace& work = *memory;
  for (std::int64_t first_k = 0; first_k < k; first_k += kDepth) {
    const std::int64_t depth = std::min(kDepth, k - first_k);
    load(work, a, b, part, first_k, depth);
    multiply(work, (part.columns + kLanes - 1) / kLanes, part.rows, depth, with_magnitudes);
  }
  for (std::int64_t row = 0; row < part.rows; ++row) {
    for (std::int64_t column = 0; column < part.columns; ++column) {
      result.values.push_back(work.sums[column / kLanes][row][column % kLanes]);
      result.magnitudes.push_back(work.magnitudes[column / kLanes][row][column % kLanes]);
    }
  }
}

}  // namespace

void gemm_reference_tile(const Problem& problem, std::span<const void* const> inputs,
                         const Rectangle& part, bool with_magnitudes, ReferenceTile& result) {
  const GemmProblem gemm = gemm_problem(problem);
  const ElementType type = element_type_from_string(problem.trait("type"));
  const bool a_as_is = gemm.op_a == Transpose::none;
  const bool b_as_is = gemm.op_b == Transpose::none;
  result.values.clear();
  result.magnitudes.clear();
  // The rows of one product after the other; each product has matrices of its own.
  const std::int64_t end = part.row + part.rows;
  for (std::int64_t row = part.row; row < end;) {
    const std::int64_t product = row / gemm.m;
    const std::int64_t rows = std::min(end, (product + 1) * gemm.m) - row;
    const auto operand = [&](const void* first, std::int64_t elements) {
      return static_cast<const std::byte*>(first) + product * elements * size_bytes(type);
    };
    append({operand(inputs[kGemmA], gemm.m * gemm.k), type, a_as_is ? gemm.lda() : 1,
            a_as_is ? 1 : gemm.lda()},
           {operand(inputs[kGemmB], gemm.k * gemm.n), type, b_as_is ? 1 : gemm.ldb(),
            b_as_is ? gemm.ldb() : 1},
           {row % gemm.m, part.column, rows, part.columns}, gemm.k, with_magnitudes, result);
    row += rows;
  }
}

}  // namespace autotune
