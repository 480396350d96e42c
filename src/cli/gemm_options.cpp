#include "cli/gemm_options.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "cli/options/option_values.hpp"
#include "core/element_type.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

constexpr std::size_t kMaxSizes = 1024;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

Problem parse_item(const std::string& item) {
  std::vector<std::int64_t> numbers;
  for (const std::string& part : items_of(item, 'x')) {
    if (const auto number = parse_whole_number(part)) numbers.push_back(*number);
  }
  const auto parts = static_cast<std::size_t>(std::ranges::count(item, 'x')) + 1;
  if (numbers.size() != parts || (parts != 1 && parts != 3)) {
    throw UsageError(fmt::format(
        "{} must be N or MxNxK with whole numbers from 1 to {}, e.g. --sizes 1024,2048x512x1024",
        item.empty() ? "an empty item is not a size: it" : in_quotes(item), kMaxSize));
  }
  return GemmProblem{.m = numbers.front(), .n = numbers[parts / 2], .k = numbers.back()};
}

void add_sizes(std::vector<Problem>& problems, const std::string& list) {
  for (const std::string& item : items_of(list)) {
    const Problem problem = parse_item(item);
    if (std::ranges::find(problems, problem) != problems.end()) continue;
    if (problems.size() == kMaxSizes) {
      throw UsageError(fmt::format("at most {} different sizes are allowed", kMaxSizes));
    }
    problems.push_back(problem);
  }
}

// The file's text. A file with more than a list of sizes can have, e.g. one without an end, is
// refused.
std::string read_text(const std::string& path, const std::string& name) {
  errno = 0;
  std::ifstream file(path);
  std::istream& input = path == "-" ? std::cin : file;
  std::string text(kMaxFileBytes + 1, '\0');
  if (input) input.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(input.gcount()));
  if (input.bad() || (path != "-" && !file.is_open())) {
    throw UsageError(fmt::format("{} cannot be read: {}; it must have sizes, one a line", name,
                                 std::strerror(errno)));
  }
  if (text.size() > kMaxFileBytes) {
    throw UsageError(fmt::format("{} has more than 1 MiB: it must have sizes, one a line", name));
  }
  return text;
}

// The part of a line before its comment, without space around it.
std::string_view without_comment(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  line = line.substr(0, line.find('#'));
  line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
  return line.substr(0, line.find_last_not_of(kSpace) + 1);
}

// The sizes of a file, "-" for standard input, of which lines may be empty.
std::vector<Problem> read_sizes(const std::string& path) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  const std::string name = path == "-" ? "standard input" : "the file " + in_quotes(path);
  std::string text = read_text(path, name);
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  std::vector<Problem> problems;
  const std::vector<std::string> lines = items_of(text, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string list(without_comment(lines[i]));
    if (list.empty()) continue;
    try {
      add_sizes(problems, list);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}, line {}: {}", name, i + 1, error.what()));
    }
  }
  if (problems.empty()) throw UsageError(name + " has no sizes: it must have them, one a line");
  return problems;
}

}  // namespace

std::vector<Problem> parse_sizes(const std::string& text) {
  if (text.starts_with('@')) return read_sizes(text.substr(1));
  std::vector<Problem> problems;
  add_sizes(problems, text);
  return problems;
}

std::optional<std::string> parse_layout(const std::string& text) {
  return std::ranges::count(kLayouts, text) > 0 ? std::optional(text) : std::nullopt;
}

std::optional<Math> parse_math(const std::string& text) {
  if (std::ranges::count(kMathNames, text) == 0) return std::nullopt;
  return math_from_string(text);
}

std::optional<ElementType> parse_type(const std::string& text) {
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16}) {
    if (text == to_string(type)) return type;
  }
  return std::nullopt;
}

bool same_size(const Problem& a, const Problem& b) {
  return std::ranges::all_of(std::array{"m", "n", "k"},
                             [&](const char* name) { return a.size(name) == b.size(name); });
}

std::vector<Problem> in_maths(const Problem& problem, const std::vector<Math>& maths) {
  if (!if_gemm(problem)) return {problem};
  GemmProblem gemm = gemm_problem(problem);
  std::vector<Problem> problems;
  for (const Math math : maths) {
    gemm.math = math;
    problems.emplace_back(gemm);
  }
  return problems;
}

Problem resized(const Problem& problem, std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem gemm = gemm_problem(problem);
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  return gemm;
}

std::vector<Math> GemmOptions::maths() const {
  if (math || !max_error) return {arithmetic()};
  std::vector<Math> all;
  for (const GemmProblem& one : with_stricter_maths({.math = Math::tf32})) all.push_back(one.math);
  std::ranges::reverse(all);
  return all;
}

GemmTypes GemmOptions::types() const {
  const ElementType operands = type.value_or(ElementType::f32);
  const GemmTypes types{.a = operands, .b = operands, .c = out_type.value_or(operands)};
  if (!are_computed(types)) {
    const std::string right = to_string(operands) + (operands == ElementType::f32 ? "" : " or f32");
    throw UsageError(
        fmt::format("--out-type: {} must be {}: no kernel computes it of operands of {}",
                    to_string(types.c), right, to_string(operands)));
  }
  if (types != GemmTypes() && math && *math != Math::strict) {
    throw UsageError(fmt::format(
        "--math {} is for operands of f32: leave it out, products of {} have sums of f32",
        to_string(*math), to_string(operands)));
  }
  return types;
}

Problem GemmOptions::in_layout(const Problem& size, std::string_view in) const {
  if (!if_gemm(size)) return size;
  GemmProblem problem = gemm_problem(size);
  problem.math = arithmetic();
  problem.types = types();
  problem.batch = batch.value_or(1);
  set_layout(problem, std::string(in));
  check_operands(problem);
  return problem;
}

Problem GemmOptions::as_asked(const Problem& size) const {
  return in_layout(size, layout.value_or("NN"));
}

std::vector<Problem> GemmOptions::problems() const {
  std::vector<Problem> problems;
  for (const Problem& size : sizes) problems.push_back(as_asked(size));
  return problems;
}

Problem GemmOptions::one_problem() const {
  if (sizes.size() == 1) return as_asked(sizes.front());
  throw UsageError(
      fmt::format("--sizes: {} sizes are given, but this command takes one size, e.g. --sizes 2048",
                  sizes.size()));
}

bool GemmOptions::choose_problems() const {
  return !sizes.empty() || layout || type || out_type || batch || math;
}

bool GemmOptions::selects(const Problem& problem) const {
  if (!choose_problems()) return true;
  const std::optional<GemmProblem> gemm = if_gemm(problem);
  if (!gemm) return std::ranges::find(sizes, problem) != sizes.end();
  const auto is_size = [&](const Problem& size) {
    return if_gemm(size) && same_size(size, problem);
  };
  return (sizes.empty() || std::ranges::any_of(sizes, is_size)) &&
         (!layout || *layout == layout_text(*gemm)) && (!batch || *batch == gemm->batch) &&
         (!type || *type == gemm->types.a) && (!out_type || *out_type == gemm->types.c) &&
         (!math || *math == gemm->math);
}

}  // namespace autotune
