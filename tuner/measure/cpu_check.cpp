#include "tuner/measure/cpu_check.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace autotune {
namespace {

constexpr std::int64_t kRows = 64;  // of a piece, at most

Finding judge(const CpuWorkspace::Output& output, const Rectangle& piece, DataSet data,
              double error_bound) {
  const bool is_exact = data == DataSet::integers;
  const PoisonedTensor& result = output.result;
  const ElementBuffer& reference = is_exact ? output.expected_integers : output.expected;
  const double unit = info(result.type()).unit_roundoff;
  Finding finding;
  for (std::int64_t row = piece.row; row < piece.row + piece.rows; ++row) {
    for (std::int64_t column = piece.column; column < piece.column + piece.columns; ++column) {
      const std::int64_t place = row * result.columns() + column;
      const double expected = reference.at(place);
      const double error = std::fabs(result.at(row, column) - expected);
      const double magnitude = is_exact ? 0 : output.magnitudes.at(place);
      const double ratio = error == 0 ? 0 : error / (unit * magnitude);
      const bool right = is_exact ? error == 0 : ratio <= error_bound;
      if (!right) {
        ++finding.wrong;
        finding.first_wrong = std::min(finding.first_wrong, place);
      }
      if (!std::isfinite(ratio)) continue;
      finding.max_error_ratio = std::max(finding.max_error_ratio, ratio);
      finding.error_squares += error * error;
      finding.reference_squares += expected * expected;
    }
  }
  return finding;
}

std::vector<Rectangle> pieces_of(std::span<const Rectangle> parts) {
  std::vector<Rectangle> pieces;
  for (const Rectangle& part : parts) {
    for (std::int64_t row = 0; row < part.rows; row += kRows) {
      pieces.push_back(
          {part.row + row, part.column, std::min(kRows, part.rows - row), part.columns});
    }
  }
  return pieces;
}

}  // namespace

Finding compare(const CpuWorkspace::Output& output, std::span<const Rectangle> parts, DataSet data,
                double error_bound, ThreadPool& pool) {
  const std::vector<Rectangle> pieces = pieces_of(parts);
  std::vector<Finding> findings(pieces.size() + 1);
  pool.for_each(pieces.size(), [&](std::size_t item, std::size_t) {
    findings[item] = judge(output, pieces[item], data, error_bound);
  });
  findings.back().outside = output.result.written_outside();
  return merged(findings);
}

}  // namespace autotune
