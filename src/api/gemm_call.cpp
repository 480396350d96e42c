#include "api/gemm_call.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/overlap.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

constexpr std::int64_t kMostSize = std::numeric_limits<std::int32_t>::max();

// Throws UsageError with a text, or returns false.
template <typename... Values>
bool wrong(OnFault on_fault, fmt::format_string<Values...> text, Values&&... values) {
  if (on_fault == OnFault::throws)
    throw UsageError(fmt::vformat(text, fmt::make_format_args(values...)));
  return false;
}

bool has_right_types(const GemmTypes& types, OnFault on_fault) {
  for (const ElementType type : {types.a, types.b, types.c, types.accumulate}) {
    if (is_known(type)) continue;
    return wrong(on_fault, "types: {} must be the number of a type, from 0 to {}",
                 static_cast<int>(type), kElementTypes.size() - 1);
  }
  if (are_computed(types)) return true;
  const std::string text = on_fault == OnFault::throws ? to_string(types) : "";
  return wrong(
      on_fault,
      "types: no kernel computes '{}': use f32, the default, bf16, f16, bf16-f32 or f16-f32", text);
}

bool is_right_problem(const GemmProblem& problem, OnFault on_fault) {
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"m", problem.m}, {"n", problem.n}, {"k", problem.k}, {"batch", problem.batch}};
  for (const auto& [name, size] : sizes) {
    if (size >= 0 && size <= kMostSize) continue;
    return wrong(on_fault, "{} is {}: it must be from 0 to {}", name, size, kMostSize);
  }
  if (problem.math > Math::tf32) {
    return wrong(on_fault, "math is {}: it must be from 0 to 2", static_cast<int>(problem.math));
  }
  const std::pair<const char*, int> choices[] = {{"op_a", static_cast<int>(problem.op_a)},
                                                 {"op_b", static_cast<int>(problem.op_b)},
                                                 {"order", static_cast<int>(problem.order)}};
  for (const auto& [name, value] : choices) {
    if (value > 1) return wrong(on_fault, "{} is {}: it must be 0 or 1", name, value);
  }
  if (!has_right_types(problem.types, on_fault)) return false;
  if (on_fault == OnFault::throws) check_operands(problem);
  return operands_fit(problem);
}

// A matrix as the caller sees it: `lines` rows of `length` elements in row-major order, columns in
// column-major order.
struct Lines {
  char name;
  const void* data;
  ElementType type;
  std::int64_t ld;
  std::int64_t lines;
  std::int64_t length;
  std::int64_t matrices;  // of a batch
  std::int64_t stride;    // elements from one of them to the next

  [[nodiscard]] char lower() const { return static_cast<char>(name - 'A' + 'a'); }
  [[nodiscard]] std::uint64_t element_bytes() const {
    return static_cast<std::uint64_t>(size_bytes(type));
  }
};

// The ld that is meant, 0 being the least.
std::int64_t meant_ld(std::int64_t ld, std::int64_t least) {
  return ld == 0 ? std::max<std::int64_t>(least, 1) : ld;
}

constexpr std::int64_t kMostExtent = std::int64_t{1} << 59;  // elements of all matrices together

// `of`: what the problem has as the type of this matrix.
bool is_right_matrix(const Lines& matrix, ElementType of, Order order, bool is_used,
                     OnFault on_fault) {
  const char* const lines = order == Order::row_major ? "rows" : "columns";
  if (is_used) {
    if (!is_known(matrix.type)) {
      return wrong(on_fault, "type of {}: {} must be the number of a type, from 0 to {}",
                   matrix.name, static_cast<int>(matrix.type), kElementTypes.size() - 1);
    }
    if (matrix.type != of) {
      return wrong(on_fault, "type of {}: '{}' must be {}, as the problem's types have it",
                   matrix.name, info(matrix.type).name, info(of).name);
    }
    if (matrix.data == nullptr) return wrong(on_fault, "{} is a null pointer", matrix.name);
    if (address_of(matrix.data) % matrix.element_bytes() != 0) {
      return wrong(on_fault, "{} is not at a multiple of {} bytes: its elements are {}",
                   matrix.name, matrix.element_bytes(), info(matrix.type).name);
    }
  }
  if (matrix.ld < matrix.length) {
    return wrong(on_fault, "ld{} is {}: {} of {} elements need {} at least", matrix.lower(),
                 matrix.ld, lines, matrix.length, matrix.length);
  }
  const std::int64_t most = kMostExtent / std::max<std::int64_t>(matrix.lines, 1);
  if (!is_used || matrix.ld <= most) return true;
  return wrong(on_fault, "ld{} is {}: it must be at most {} for {} {}", matrix.lower(), matrix.ld,
               most, matrix.lines, lines);
}

bool is_right_stride(const Lines& matrix, OnFault on_fault) {
  const std::int64_t most = kMostExtent / std::max<std::int64_t>(matrix.matrices, 1);
  if (matrix.matrices <= 1 || (matrix.stride >= 0 && matrix.stride <= most)) return true;
  return wrong(on_fault, "stride_{} is {}: it must be from 0 to {} for {} matrices", matrix.lower(),
               matrix.stride, most, matrix.matrices);
}

// The matrices of the result lie behind each other, or all between the lines of the first one.
bool are_separate(const Lines& c, OnFault on_fault) {
  if (c.matrices <= 1) return true;
  const bool behind =
      c.stride / c.ld >= c.lines || (c.stride / c.ld == c.lines - 1 && c.stride % c.ld >= c.length);
  const bool between = c.stride >= c.length && c.stride <= (c.ld - c.length) / (c.matrices - 1);
  if (behind || between) return true;
  return wrong(on_fault,
               "stride_{} is {}: the matrices of {} overlap, as {} lines of {} elements, {} apart",
               c.lower(), c.stride, c.name, c.lines, c.length, c.ld);
}

// The end of all matrices, or the greatest address if that is beyond it.
std::uint64_t end_of(const Lines& matrix) {
  const std::int64_t elements =
      (matrix.lines - 1) * matrix.ld + matrix.length + (matrix.matrices - 1) * matrix.stride;
  std::uint64_t end = 0;
  const bool is_beyond = __builtin_add_overflow(
      address_of(matrix.data), matrix.element_bytes() * static_cast<std::uint64_t>(elements), &end);
  return is_beyond ? std::numeric_limits<std::uint64_t>::max() : end;
}

// `c`: the result.
bool are_apart(const Lines& operand, const Lines& c) {
  if (end_of(operand) <= address_of(c.data) || end_of(c) <= address_of(operand.data)) return true;
  // Counted in the smaller one's elements: both begin at multiples of these.
  const std::uint64_t unit = std::min(operand.element_bytes(), c.element_bytes());
  const auto runs = [unit](const Lines& of) {
    const auto scale = static_cast<std::int64_t>(of.element_bytes() / unit);
    return ElementRuns{of.length * scale,
                       {{{of.lines, of.ld * scale}, {of.matrices, of.stride * scale}}}};
  };
  const auto bytes = static_cast<std::int64_t>(address_of(c.data) - address_of(operand.data));
  return !may_overlap(runs(operand), runs(c), bytes / static_cast<std::int64_t>(unit));
}

// Kernels read factors in memory in all of their blocks, some of which have written by then.
bool are_factors_apart(const GemmArguments& arguments, const Lines& result, OnFault on_fault) {
  const std::pair<const char*, const float*> factors[] = {{"alpha_ptr", arguments.alpha_ptr},
                                                          {"beta_ptr", arguments.beta_ptr}};
  for (const auto& [name, at] : factors) {
    const Lines factor{name[0], at, ElementType::f32, 1, 1, 1, 1, 0};
    if (at == nullptr || are_apart(factor, result)) continue;
    return wrong(on_fault, "{} is an element of {}: the result must not overlap it", name,
                 result.name);
  }
  return true;
}

// `name`: the caller's, which in column-major order is not the kernel's.
bool is_right_prepared(const PreparedMatrix* prepared, const OperandPlace& place, char name,
                       OnFault on_fault) {
  if (prepared == nullptr || prepared->operand()->place == place) return true;
  return wrong(
      on_fault,
      "{} is not the matrix that was prepared: its address, type, ld, shape or layout differs",
      name);
}

bool has_right_scalars(const GemmArguments& arguments, OnFault on_fault) {
  if ((arguments.alpha_ptr == nullptr) != (arguments.beta_ptr == nullptr)) {
    return wrong(on_fault, "alpha_ptr and beta_ptr: both must be given, or neither");
  }
  const std::uint64_t addresses = address_of(arguments.alpha_ptr) | address_of(arguments.beta_ptr);
  if (addresses % sizeof(float) == 0) return true;
  return wrong(on_fault, "alpha_ptr and beta_ptr must be at multiples of {} bytes", sizeof(float));
}

bool is_same_place(const MutableMatrix& c, const MutableMatrix& d, const GemmProblem& problem) {
  return c.data == d.data && meant_ld(c.ld, problem.ldc()) == meant_ld(d.ld, problem.ldc()) &&
         (problem.batch <= 1 || c.stride == d.stride);
}

struct Used {
  Lines lines;
  ElementType type;  // as the problem has it
  bool is_used;
};

// The matrices of a call as the caller sees them: A, B, C, and D; without a D, C is the result.
// `call`: that of the others.
std::array<Used, 4> matrices_of(const GemmCall& call, const GemmProblem& problem,
                                const GemmArguments& arguments) {
  const auto& c = arguments.c;
  const auto& d = arguments.d;
  const bool empty = call.is_empty();
  const bool multiplies = !empty && call.multiplies();
  const bool reads_c = call.reads_c() && !is_same_place(c, d, problem);
  const bool uses_c = !empty && (d.data == nullptr || reads_c);
  const auto lines_of = [&](char name, const auto& matrix, std::int64_t packed_ld,
                            std::int64_t rows, std::int64_t columns) {
    return Lines{name,
                 matrix.data,
                 matrix.type,
                 meant_ld(matrix.ld, packed_ld),
                 packed_ld == columns ? rows : columns,
                 packed_ld,
                 problem.batch,
                 problem.batch > 1 ? matrix.stride : 0};
  };
  const std::int64_t m = problem.m;
  const std::int64_t n = problem.n;
  const std::int64_t k = problem.k;
  const GemmTypes& types = problem.types;
  return {{{lines_of('A', arguments.a, problem.lda(), m, k), types.a, multiplies},
           {lines_of('B', arguments.b, problem.ldb(), k, n), types.b, multiplies},
           {lines_of('C', c, problem.ldc(), m, n), types.c, uses_c},
           {lines_of('D', d, problem.ldc(), m, n), types.c, !empty}}};
}

// Finds whatever is wrong, in the caller's terms.
bool is_right_at_length(const GemmCall& call, const GemmProblem& problem,
                        const GemmArguments& arguments, OnFault on_fault) {
  if (!is_right_problem(problem, on_fault) || !has_right_scalars(arguments, on_fault)) return false;
  const std::array<Used, 4> matrices = matrices_of(call, problem, arguments);
  const std::span used(matrices.data(), arguments.d.data == nullptr ? 3 : 4);
  for (const auto& [lines, type, is_used] : used) {
    if (!is_right_matrix(lines, type, problem.order, is_used, on_fault)) return false;
  }
  for (const Used& one : used) {
    if (!is_right_stride(one.lines, on_fault)) return false;
  }
  const auto& [result, type, is_written] = used.back();
  if (!is_written || !are_separate(result, on_fault)) return !is_written;
  for (const auto& [lines, of, is_used] : used.first(used.size() - 1)) {
    if (!is_used || are_apart(lines, result)) continue;
    return wrong(on_fault, "{} overlaps {}", result.name, lines.name);
  }
  return are_factors_apart(arguments, result, on_fault);
}

bool is_right_workspace(const Workspace& workspace, OnFault on_fault) {
  if (address_of(workspace.data) % 256 != 0) {
    return wrong(on_fault, "the workspace is not at a multiple of 256 bytes");
  }
  if (workspace.data != nullptr || workspace.bytes == 0) return true;
  return wrong(on_fault, "the workspace of {} bytes is a null pointer", workspace.bytes);
}

// The bytes of a matrix of a plain call.
struct Extent {
  std::uint64_t begin;
  std::uint64_t end;
  bool is_right;

  Extent(const void* data, ElementType type, std::int64_t lines, std::int64_t ld)
      : begin(address_of(data)) {
    const auto element_bytes = static_cast<std::uint64_t>(size_bytes(type));
    const auto elements = static_cast<std::uint64_t>(lines * ld);
    constexpr auto kMost = static_cast<std::uint64_t>(kMostExtent) / 8;
    end = begin + element_bytes * elements;
    is_right = begin != 0 && (begin & (element_bytes - 1)) == 0 && elements <= kMost;
  }
  [[nodiscard]] bool is_apart_from(const Extent& other) const {
    return end <= other.begin || other.end <= begin;
  }
};

// Returns whether lines are as far apart as they are long.
bool has_room(const GemmCall& call) {
  const GemmProblem& p = call.problem;
  return call.a.ld >= p.lda() && call.b.ld >= p.ldb() && call.c.ld >= p.ldc();
}

// Returns whether a call is right at first sight, as nearly all are: this is a part of every call.
// `choices` has the bits of all enumerators but math, and none for types that are right in a call
// without scalars in memory and D.
bool is_plain(const GemmCall& call, unsigned choices) {
  const GemmProblem& p = call.problem;
  const std::int64_t numbers = p.m | p.n | p.k | call.a.ld | call.b.ld | call.c.ld;
  if (static_cast<std::uint64_t>(numbers) > kMostSize || p.batch != 1 || choices > 1 ||
      p.math > Math::tf32 || call.is_empty() || !call.multiplies() || !has_room(call)) {
    return false;
  }
  const Extent a(call.a.data, p.types.a, p.op_a == Transpose::none ? p.m : p.k, call.a.ld);
  const Extent b(call.b.data, p.types.b, p.op_b == Transpose::none ? p.k : p.n, call.b.ld);
  const Extent c(call.c.data, p.types.c, p.m, call.c.ld);
  return a.is_right && b.is_right && c.is_right && c.is_apart_from(a) && c.is_apart_from(b);
}

}  // namespace

void check_problem(const GemmProblem& problem) {
  static_cast<void>(is_right_problem(problem, OnFault::throws));
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

GemmCall unchecked_call(const GemmProblem& problem, const GemmArguments& arguments) {
  GemmCall call{arguments, problem.row_major()};
  if (problem.order != Order::row_major) std::swap(call.a, call.b);
  if (call.d.data != nullptr) {
    if (call.reads_c() && !is_same_place(call.c, call.d, call.problem)) call.copied = call.c;
    call.copied.ld = meant_ld(call.copied.ld, call.problem.ldc());
    call.c = call.d;
  }
  call.a.ld = meant_ld(call.a.ld, call.problem.lda());
  call.b.ld = meant_ld(call.b.ld, call.problem.ldb());
  call.c.ld = meant_ld(call.c.ld, call.problem.ldc());
  for (Matrix* const matrix : {&call.a, &call.b}) {
    const bool is_prepared = matrix->prepared != nullptr && matrix->prepared->operand() != nullptr;
    if (!is_prepared) matrix->prepared = nullptr;
  }
  return call;
}

bool is_right(const GemmCall& call, const GemmProblem& problem, const GemmArguments& arguments,
              OnFault on_fault) {
  const GemmTypes types{arguments.a.type, arguments.b.type, arguments.c.type,
                        problem.types.accumulate};
  const bool has_more = arguments.alpha_ptr != nullptr || arguments.beta_ptr != nullptr ||
                        arguments.d.data != nullptr;
  const auto choices = static_cast<unsigned>(problem.op_a) | static_cast<unsigned>(problem.op_b) |
                       static_cast<unsigned>(problem.order) |
                       (are_computed(problem.types) && types == problem.types ? 0U : 2U) |
                       (has_more ? 2U : 0U);
  if (!is_plain(call, choices) && !is_right_at_length(call, problem, arguments, on_fault))
    return false;
  if (!is_right_workspace(call.workspace, on_fault)) return false;
  if (call.a.prepared == nullptr && call.b.prepared == nullptr) return true;
  const bool as_given = problem.order == Order::row_major;
  return is_right_prepared(call.a.prepared, place_of_a(call), as_given ? 'A' : 'B', on_fault) &&
         is_right_prepared(call.b.prepared, place_of_b(call), as_given ? 'B' : 'A', on_fault);
}

GemmCall checked_call(const GemmProblem& problem, const GemmArguments& arguments) {
  GemmCall call = unchecked_call(problem, arguments);
  is_right(call, problem, arguments, OnFault::throws);
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
  matrix.ld = meant_ld(matrix.ld, least);
  is_right_matrix(
      {is_a ? 'A' : 'B', matrix.data, matrix.type, matrix.ld, elements / least, least, 1, 0},
      is_a ? problem.types.a : problem.types.b, problem.order, /*is_used=*/true, OnFault::throws);
  GemmCall call{{}, problem.row_major()};
  call.stream = stream;
  const bool becomes_a = is_a == (problem.order == Order::row_major);
  (becomes_a ? call.a : call.b) = matrix;
  return call;
}

}  // namespace autotune
