#include "api/gemm_call.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/overlap.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

constexpr std::int64_t kMostSize = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void refuse_problem(const GemmProblem& problem) {
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"m", problem.m}, {"n", problem.n}, {"k", problem.k}, {"batch", problem.batch}};
  for (const auto& [name, size] : sizes) {
    if (size >= 0 && size <= kMostSize) continue;
    throw UsageError(fmt::format("{} is {}: it must be from 0 to {}", name, size, kMostSize));
  }
  if (problem.math > Math::tf32) {
    throw UsageError(
        fmt::format("math is {}: it must be from 0 to 2", static_cast<int>(problem.math)));
  }
  const std::pair<const char*, int> choices[] = {{"op_a", static_cast<int>(problem.op_a)},
                                                 {"op_b", static_cast<int>(problem.op_b)},
                                                 {"order", static_cast<int>(problem.order)}};
  for (const auto& [name, value] : choices) {
    if (value > 1) throw UsageError(fmt::format("{} is {}: it must be 0 or 1", name, value));
  }
  if (problem.types != GemmTypes()) {
    throw UsageError("types: A, B, C and the sums must be f32, the default");
  }
  throw Error("a problem was refused that is right");
}

// A matrix as the caller sees it: `lines` rows of `length` elements in row-major order, columns in
// column-major order.
struct Lines {
  char name;
  const float* data;
  std::int64_t ld;
  std::int64_t lines;
  std::int64_t length;
  std::int64_t matrices;  // of a batch
  std::int64_t stride;    // elements from one of them to the next

  [[nodiscard]] char lower() const { return static_cast<char>(name - 'A' + 'a'); }
};

[[noreturn]] void refuse_matrix(const Lines& matrix, Order order, bool is_placed) {
  if (!is_placed && matrix.data == nullptr) {
    throw UsageError(fmt::format("{} is a null pointer", matrix.name));
  }
  if (!is_placed) {
    throw UsageError(fmt::format("{} is not at a multiple of {} bytes: its elements are FP32",
                                 matrix.name, sizeof(float)));
  }
  throw UsageError(fmt::format("ld{} is {}: {} of {} elements need {} at least", matrix.lower(),
                               matrix.ld, order == Order::row_major ? "rows" : "columns",
                               matrix.length, matrix.length));
}

// The ld that is meant, 0 being the least.
std::int64_t meant_ld(std::int64_t ld, std::int64_t least) {
  return ld == 0 ? std::max<std::int64_t>(least, 1) : ld;
}

constexpr std::int64_t kMostExtent = std::int64_t{1} << 59;  // elements of all matrices together

void check_matrix(const Lines& matrix, Order order, bool is_used) {
  const bool is_placed =
      !is_used || (matrix.data != nullptr && address_of(matrix.data) % sizeof(float) == 0);
  if (!is_placed || matrix.ld < matrix.length) refuse_matrix(matrix, order, is_placed);
  const std::int64_t most = kMostExtent / std::max<std::int64_t>(matrix.lines, 1);
  if (!is_used || matrix.ld <= most) return;
  throw UsageError(fmt::format("ld{} is {}: it must be at most {} for {} {}", matrix.lower(),
                               matrix.ld, most, matrix.lines,
                               order == Order::row_major ? "rows" : "columns"));
}

void check_stride(const Lines& matrix) {
  const std::int64_t most = kMostExtent / std::max<std::int64_t>(matrix.matrices, 1);
  if (matrix.matrices <= 1 || (matrix.stride >= 0 && matrix.stride <= most)) return;
  throw UsageError(fmt::format("stride_{} is {}: it must be from 0 to {} for {} matrices",
                               matrix.lower(), matrix.stride, most, matrix.matrices));
}

// Matrices of C lie behind each other, or all between the lines of the first one.
void check_separate(const Lines& c) {
  if (c.matrices <= 1) return;
  const bool behind =
      c.stride / c.ld >= c.lines || (c.stride / c.ld == c.lines - 1 && c.stride % c.ld >= c.length);
  const bool between = c.stride >= c.length && c.stride <= (c.ld - c.length) / (c.matrices - 1);
  if (behind || between) return;
  throw UsageError(
      fmt::format("stride_c is {}: the matrices of C overlap, as {} lines of {} elements, {} apart",
                  c.stride, c.lines, c.length, c.ld));
}

// The end of all matrices, or the greatest address if that is beyond it.
std::uint64_t end_of(const Lines& matrix) {
  const std::int64_t elements =
      (matrix.lines - 1) * matrix.ld + matrix.length + (matrix.matrices - 1) * matrix.stride;
  std::uint64_t end = 0;
  const bool is_beyond = __builtin_add_overflow(address_of(matrix.data),
                                                4 * static_cast<std::uint64_t>(elements), &end);
  return is_beyond ? std::numeric_limits<std::uint64_t>::max() : end;
}

void check_apart(const Lines& operand, const Lines& c) {
  if (end_of(operand) <= address_of(c.data) || end_of(c) <= address_of(operand.data)) return;
  const auto runs = [](const Lines& of) {
    return ElementRuns{of.length, {{{of.lines, of.ld}, {of.matrices, of.stride}}}};
  };
  const auto bytes = static_cast<std::int64_t>(address_of(c.data) - address_of(operand.data));
  if (!may_overlap(runs(operand), runs(c), bytes / 4)) return;
  throw UsageError(fmt::format("C overlaps {}", operand.name));
}

const PreparedOperand* operand_of(const Matrix& matrix) {
  return matrix.prepared == nullptr ? nullptr : matrix.prepared->operand();
}

// `name`: the caller's, which in column-major order is not the kernel's.
void check_prepared(const PreparedOperand* prepared, const OperandPlace& place, char name) {
  if (prepared == nullptr || prepared->place == place) return;
  throw UsageError(fmt::format(
      "{} is not the matrix that was prepared: its address, ld, shape or layout differs", name));
}

// Throws UsageError for whatever is wrong, in the caller's terms.
void check_carefully(const GemmProblem& problem, float alpha, Matrix a, Matrix b, MutableMatrix c) {
  check_problem(problem);
  const bool empty = problem.m == 0 || problem.n == 0 || problem.batch == 0;
  const bool multiplies = !empty && alpha != 0 && problem.k > 0;
  const std::int64_t lda = problem.lda();
  const std::int64_t ldb = problem.ldb();
  const std::int64_t ldc = problem.ldc();
  const auto lines_of = [&](char name, const auto& matrix, std::int64_t packed_ld,
                            std::int64_t count) {
    return Lines{name,      matrix.data,   meant_ld(matrix.ld, packed_ld),       count,
                 packed_ld, problem.batch, problem.batch > 1 ? matrix.stride : 0};
  };
  const Lines lines_a = lines_of('A', a, lda, lda == problem.k ? problem.m : problem.k);
  const Lines lines_b = lines_of('B', b, ldb, ldb == problem.n ? problem.k : problem.n);
  const Lines lines_c = lines_of('C', c, ldc, ldc == problem.n ? problem.m : problem.n);
  check_matrix(lines_a, problem.order, multiplies);
  check_matrix(lines_b, problem.order, multiplies);
  check_matrix(lines_c, problem.order, !empty);
  for (const Lines& matrix : {lines_a, lines_b, lines_c}) check_stride(matrix);
  if (!empty) check_separate(lines_c);
  if (multiplies) {
    check_apart(lines_a, lines_c);
    check_apart(lines_b, lines_c);
  }
}

// Returns whether a call is right at first sight, as nearly all are: this is a part of every call.
// `choices` has the bits of all enumerators but math: FP32 has none.
bool is_plain(const GemmCall& call, unsigned choices) {
  const GemmProblem& p = call.problem;
  const std::int64_t numbers = p.m | p.n | p.k | call.lda | call.ldb | call.ldc;
  const std::uint64_t a = address_of(call.a);
  const std::uint64_t b = address_of(call.b);
  const std::uint64_t c = address_of(call.c);
  if (static_cast<std::uint64_t>(numbers) > kMostSize || p.batch != 1 || choices > 1 ||
      p.math > Math::tf32 || (a | b | c) % 4 != 0 || call.is_empty() || !call.multiplies() ||
      call.lda < p.lda() || call.ldb < p.ldb() || call.ldc < p.ldc() || a == 0 || b == 0 ||
      c == 0) {
    return false;
  }
  const auto bytes = [](std::int64_t rows, std::int64_t ld) {
    return 4 * static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(ld);
  };
  const std::uint64_t rows_c = bytes(p.m, call.ldc);
  const std::uint64_t rows_a = bytes(p.op_a == Transpose::none ? p.m : p.k, call.lda);
  const std::uint64_t rows_b = bytes(p.op_b == Transpose::none ? p.k : p.n, call.ldb);
  if ((rows_a | rows_b | rows_c) > static_cast<std::uint64_t>(kMostExtent)) return false;
  const std::uint64_t end_of_c = c + rows_c;
  return (end_of_c <= a || a + rows_a <= c) && (end_of_c <= b || b + rows_b <= c);
}

}  // namespace

void check_problem(const GemmProblem& problem) {
  const auto fits = [](std::int64_t size) { return size >= 0 && size <= kMostSize; };
  const auto is_known = [](auto choice) { return static_cast<int>(choice) <= 1; };
  if (fits(problem.m) && fits(problem.n) && fits(problem.k) && fits(problem.batch) &&
      is_known(problem.op_a) && is_known(problem.op_b) && problem.math <= Math::tf32 &&
      is_known(problem.order) && problem.types == GemmTypes()) {
    return check_operands(problem);
  }
  refuse_problem(problem);
}

void check_tunable(const GemmProblem& problem) {
  check_problem(problem);
  if (problem.m > 0 && problem.n > 0 && problem.k > 0 && problem.batch > 0) return;
  throw UsageError(to_string(problem) + " has nothing to multiply");
}

void check_max_error(std::optional<double> max_error) {
  if (!max_error || (*max_error > 0 && *max_error < 1)) return;
  throw UsageError(fmt::format("max_error is {}: it must be above 0 and below 1", *max_error));
}

GemmCall checked_call(const GemmProblem& problem, float alpha, Matrix a, Matrix b, float beta,
                      MutableMatrix c, Stream stream) {
  GemmCall call{problem.row_major(),
                alpha,
                a.data,
                a.ld,
                b.data,
                b.ld,
                beta,
                c.data,
                c.ld,
                stream,
                a.stride,
                b.stride,
                c.stride,
                operand_of(a),
                operand_of(b)};
  if (problem.order != Order::row_major) {
    std::swap(call.a, call.b);
    std::swap(call.lda, call.ldb);
    std::swap(call.stride_a, call.stride_b);
    std::swap(call.prepared_a, call.prepared_b);
  }
  call.lda = meant_ld(call.lda, call.problem.lda());
  call.ldb = meant_ld(call.ldb, call.problem.ldb());
  call.ldc = meant_ld(call.ldc, call.problem.ldc());
  const auto choices = static_cast<unsigned>(problem.op_a) | static_cast<unsigned>(problem.op_b) |
                       static_cast<unsigned>(problem.order) | problem.types.number() << 1;
  if (!is_plain(call, choices)) check_carefully(problem, alpha, a, b, c);
  if (call.prepared_a != nullptr || call.prepared_b != nullptr) {
    const bool as_given = problem.order == Order::row_major;
    check_prepared(call.prepared_a, place_of_a(call), as_given ? 'A' : 'B');
    check_prepared(call.prepared_b, place_of_b(call), as_given ? 'B' : 'A');
  }
  return call;
}

GemmCall checked_operand(const GemmProblem& problem, Operand which, Matrix matrix, Stream stream) {
  check_tunable(problem);
  if (which > Operand::b) {
    throw UsageError(fmt::format("which is {}: it must be 0 or 1", static_cast<int>(which)));
  }
  if (problem.batch > 1) {
    throw UsageError(to_string(problem) + ": an operand is prepared for single products");
  }
  const bool is_a = which == Operand::a;
  const std::int64_t least = is_a ? problem.lda() : problem.ldb();
  const std::int64_t elements = problem.k * (is_a ? problem.m : problem.n);
  const std::int64_t ld = meant_ld(matrix.ld, least);
  check_matrix({is_a ? 'A' : 'B', matrix.data, ld, elements / least, least, 1, 0}, problem.order,
               /*is_used=*/true);
  GemmCall call{};
  call.problem = problem.row_major();
  call.stream = stream;
  const bool becomes_a = is_a == (problem.order == Order::row_major);
  (becomes_a ? call.a : call.b) = matrix.data;
  (becomes_a ? call.lda : call.ldb) = ld;
  return call;
}

}  // namespace autotune
