#include "tuner/measure/cpu_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace autotune {
namespace {

// Eight neighbouring columns, multiplied at once.
constexpr std::int64_t kLanes = 8;
using Eight = double __attribute__((vector_size(kLanes * sizeof(double))));

// A piece is at most kSide x kSide, and takes kDepth of K at a time: all of it stays in the cache.
constexpr std::int64_t kSide = 64;
constexpr std::int64_t kDepth = 128;
constexpr std::int64_t kGroups = kSide / kLanes;

// What one thread needs for one piece.
struct Workspace {
  double a[kSide][kDepth];
  Eight b[kGroups][kDepth];
  Eight b_magnitudes[kGroups][kDepth];
  Eight sums[kGroups][kSide];
  Eight magnitudes[kGroups][kSide];
};

void load(Workspace& work, const OperandView& a, const OperandView& b, const Rectangle& piece,
          std::int64_t first_k, std::int64_t depth) {
  for (std::int64_t row = 0; row < piece.rows; ++row) {
    const float* const from = a.data + (piece.row + row) * a.line_step + first_k * a.k_step;
    for (std::int64_t k = 0; k < depth; ++k) {
      work.a[row][k] = static_cast<double>(from[k * a.k_step]);
    }
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const float* const from = b.data + piece.column * b.line_step + (first_k + k) * b.k_step;
    for (std::int64_t column = 0; column < piece.columns; ++column) {
      const auto value = static_cast<double>(from[column * b.line_step]);
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

// The reference of a piece, into work.sums and work.magnitudes.
void compute(Workspace& work, const OperandView& a, const OperandView& b, const Rectangle& piece,
             std::int64_t k, bool with_magnitudes) {
  work = {};
  const std::int64_t groups = (piece.columns + kLanes - 1) / kLanes;
  for (std::int64_t first_k = 0; first_k < k; first_k += kDepth) {
    const std::int64_t depth = std::min(kDepth, k - first_k);
    load(work, a, b, piece, first_k, depth);
    multiply(work, groups, piece.rows, depth, with_magnitudes);
  }
}

Finding rank_finalists(const Workspace& work, const PoisonedMatrix& c, const Rectangle& piece,
                       Expectation expectation, double bound) {
  Finding finding;
  finding.first_wrong = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t row = 0; row < piece.rows; ++row) {
    for (std::int64_t column = 0; column < piece.columns; ++column) {
      const std::int64_t place = (piece.row + row) * c.columns() + piece.column + column;
      const double reference = work.sums[column / kLanes][row][column % kLanes];
      const double magnitude = work.magnitudes[column / kLanes][row][column % kLanes];
      const double error = std::fabs(static_cast<double>(c.data()[place]) - reference);
      const double ratio = error == 0 ? 0 : error / (kUnitRoundoff * magnitude);
      const bool right = expectation == Expectation::exact ? error == 0 : ratio <= bound;
      if (!right) {
        ++finding.wrong;
        finding.first_wrong = std::min(finding.first_wrong, place);
      }
      if (!std::isfinite(ratio)) continue;
      finding.max_error_ratio = std::max(finding.max_error_ratio, ratio);
      finding.error_squares += error * error;
      finding.reference_squares += reference * reference;
    }
  }
  return finding;
}

std::vector<Rectangle> pieces_of(std::span<const Rectangle> parts) {
  std::vector<Rectangle> pieces;
  for (const Rectangle& part : parts) {
    for (std::int64_t row = 0; row < part.rows; row += kSide) {
      for (std::int64_t column = 0; column < part.columns; column += kSide) {
        pieces.push_back({part.row + row, part.column + column, std::min(kSide, part.rows - row),
                          std::min(kSide, part.columns - column)});
      }
    }
  }
  return pieces;
}

}  // namespace

OperandView view_of_a(const GemmProblem& problem, const float* data) {
  const bool plain = problem.op_a == Transpose::none;
  return {data, plain ? problem.lda() : 1, plain ? 1 : problem.lda()};
}

OperandView view_of_b(const GemmProblem& problem, const float* data) {
  const bool plain = problem.op_b == Transpose::none;
  return {data, plain ? 1 : problem.ldb(), plain ? problem.ldb() : 1};
}

Finding compare(const GemmProblem& problem, const OperandView& a, const OperandView& b,
                const PoisonedMatrix& c, std::span<const Rectangle> parts, Expectation expectation,
                double bound, ThreadPool& pool) {
  const std::vector<Rectangle> pieces = pieces_of(parts);
  std::vector<Workspace> work(pool.size());
  std::vector<Finding> findings(pieces.size() + 1);
  pool.for_each(pieces.size(), [&](std::size_t item, std::size_t thread) {
    compute(work[thread], a, b, pieces[item], problem.k, expectation == Expectation::bounded);
    findings[item] = rank_finalists(work[thread], c, pieces[item], expectation, bound);
  });
  findings.back().first_wrong = std::numeric_limits<std::int64_t>::max();
  findings.back().outside = c.written_outside();
  return merged(findings);
}

}  // namespace autotune
