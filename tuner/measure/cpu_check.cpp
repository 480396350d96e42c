#include "tuner/measure/cpu_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace autotune {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

Finding judge(const ReferenceTile& reference, const PoisonedTensor& output, const Rectangle& piece,
              DataSet data, double error_bound) {
  const double unit = info(output.type()).unit_roundoff;
  Finding finding;
  finding.first_wrong = kNone;
  for (std::int64_t row = 0; row < piece.rows; ++row) {
    for (std::int64_t column = 0; column < piece.columns; ++column) {
      const auto i = static_cast<std::size_t>(row * piece.columns + column);
      const double value = output.at(piece.row + row, piece.column + column);
      const double error = std::fabs(value - reference.values[i]);
      const double ratio = error == 0 ? 0 : error / (unit * reference.magnitudes[i]);
      const bool right = data == DataSet::integers ? error == 0 : ratio <= error_bound;
      if (!right) {
        const std::int64_t place = (piece.row + row) * output.columns() + piece.column + column;
        ++finding.wrong;
        finding.first_wrong = std::min(finding.first_wrong, place);
      }
      if (!std::isfinite(ratio)) continue;
      finding.max_error_ratio = std::max(finding.max_error_ratio, ratio);
      finding.error_squares += error * error;
      finding.reference_squares += reference.values[i] * reference.values[i];
    }
  }
  return finding;
}

std::vector<Rectangle> pieces_of(std::span<const Rectangle> parts) {
  std::vector<Rectangle> pieces;
  for (const Rectangle& part : parts) {
    for (std::int64_t row = 0; row < part.rows; row += ReferenceTile::kSide) {
      for (std::int64_t column = 0; column < part.columns; column += ReferenceTile::kSide) {
        pieces.push_back({part.row + row, part.column + column,
                          std::min(ReferenceTile::kSide, part.rows - row),
                          std::min(ReferenceTile::kSide, part.columns - column)});
      }
    }
  }
  return pieces;
}

}  // namespace

Finding compare(const Operation& operation, const Problem& problem,
                std::span<const void* const> inputs, const PoisonedTensor& output,
                std::span<const Rectangle> parts, DataSet data, double error_bound,
                ThreadPool& pool) {
  const std::vector<Rectangle> pieces = pieces_of(parts);
  std::vector<ReferenceTile> tiles(pool.size());
  std::vector<Finding> findings(pieces.size() + 1);
  pool.for_each(pieces.size(), [&](std::size_t item, std::size_t thread) {
    const bool with_magnitudes = data == DataSet::reals;
    operation.reference_tile(problem, inputs, pieces[item], with_magnitudes, tiles[thread]);
    tiles[thread].magnitudes.resize(tiles[thread].values.size());
    findings[item] = judge(tiles[thread], output, pieces[item], data, error_bound);
  });
  findings.back().first_wrong = kNone;
  findings.back().outside = output.written_outside();
  return merged(findings);
}

}  // namespace autotune
