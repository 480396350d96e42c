#include "tuner/measure/cpu_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace autotune {
namespace {

constexpr std::int64_t kRows = 64;  // of a piece, at most

const ElementBuffer& expected_of(const CpuWorkspace::Output& output, DataSet data) {
  return data == DataSet::integers ? output.expected_integers : output.expected;
}

Finding judge(const CpuWorkspace::Output& output, const Rectangle& piece, DataSet data,
              double error_bound) {
  const bool is_exact = data == DataSet::integers;
  const PoisonedTensor& result = output.result;
  const ElementBuffer& reference = expected_of(output, data);
  const double unit = info(result.type()).unit_roundoff;
  const std::int64_t bytes = size_bytes(result.type());
  Finding finding;
  if (output.tolerance && std::isinf(output.tolerance->absolute)) return finding;
  for (std::int64_t row = piece.row; row < piece.row + piece.rows; ++row) {
    for (std::int64_t column = piece.column; column < piece.column + piece.columns; ++column) {
      const std::int64_t place = row * result.columns() + column;
      const double expected = reference.at(place);
      const double value = result.at(row, column);
      const double error = std::fabs(value - expected);
      const double magnitude = is_exact || output.tolerance ? 0 : output.magnitudes.at(place);
      const double ratio = output.tolerance ? tolerance_ratio(value, expected, *output.tolerance)
                           : error == 0     ? 0
                                            : error / (unit * magnitude);
      const bool right = is_exact && !output.tolerance ? error == 0 : ratio <= error_bound;
      // Integers of 64 bits may differ where their FP64 values do not.
      const bool differs =
          output.tolerance && is_integer(result.type()) &&
          std::memcmp(result.element(row, column), reference.data() + place * bytes,
                      static_cast<std::size_t>(bytes)) != 0;
      if (!right || differs) {
        ++finding.wrong;
        finding.first_wrong = std::min(finding.first_wrong, place);
      }
      if (!std::isfinite(ratio) || !std::isfinite(error)) continue;
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

WrongOutput wrong_output(const CpuWorkspace::Output& output, DataSet data, const Finding& finding) {
  if (finding.wrong == 0) return {};
  const PoisonedTensor& result = output.result;
  const ElementType type = result.type();
  const std::byte* const expected = expected_of(output, data).data();
  WrongOutput wrong{
      .value = element_text(type, result.element(finding.first_wrong / result.columns(),
                                                 finding.first_wrong % result.columns())),
      .expected = element_text(type, expected + finding.first_wrong * size_bytes(type))};
  if (output.data) return wrong;
  const PoisonedTensor::Unwritten unwritten = result.unwritten();
  wrong.unwritten = unwritten.count;
  wrong.first_unwritten = unwritten.first;
  return wrong;
}

}  // namespace autotune
