#include "autotune/problem.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "core/element_type.hpp"
#include "core/problem.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

constexpr std::array<std::string_view, 4> kSizeNames = {"m", "n", "k", "batch"};
constexpr std::array<std::string_view, 3> kTraitNames = {"type", "layout", "math"};
constexpr std::int64_t kMostSize = std::numeric_limits<std::int32_t>::max();

// Returns whether the values have the first of these names, in their order, and at least so many.
template <typename Value, std::size_t kMost>
bool have_names(const std::vector<Value>& values, const std::array<std::string_view, kMost>& names,
                std::size_t least) {
  return values.size() >= least && values.size() <= kMost &&
         std::equal(values.begin(), values.end(), names.begin(),
                    [](const Value& value, std::string_view name) { return value.name == name; });
}

}  // namespace

bool operands_fit(const GemmProblem& problem) {
  constexpr double kMostElements = 0x1p62;
  const auto m = static_cast<double>(problem.m);
  const auto n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.k);
  const double largest = std::max({m * k, k * n, m * n}) * static_cast<double>(problem.batch);
  return largest <= kMostElements;
}

void check_operands(const GemmProblem& problem) {
  if (operands_fit(problem)) return;
  throw UsageError(to_string(problem) +
                   " has an operand of more than 2^62 elements: the batch must be smaller");
}

GemmProblem::operator Problem() const {
  const GemmProblem rows = row_major();
  std::vector<Problem::Size> sizes = {{"m", rows.m}, {"n", rows.n}, {"k", rows.k}};
  // A single product has the key that it had before there were batches.
  if (rows.batch != 1) sizes.push_back({"batch", rows.batch});
  return {
      kGemm,
      std::move(sizes),
      {{"type", to_string(rows.types)}, {"layout", layout_text(rows)}, {"math", to_string(math)}}};
}

GemmProblem gemm_problem(const Problem& problem) {
  const std::vector<Problem::Size>& sizes = problem.sizes();
  const std::vector<Problem::Trait>& traits = problem.traits();
  if (problem.operation() != kGemm || !have_names(sizes, kSizeNames, 3) ||
      !have_names(traits, kTraitNames, kTraitNames.size())) {
    throw Error("'" + problem.key() + "' is not a " + kGemm);
  }
  for (const auto& [name, value] : sizes) {
    if (value >= 1 && value <= kMostSize) continue;
    throw Error("'" + problem.key() + "' has a size that is not from 1 to 2147483647");
  }
  GemmProblem gemm{.m = sizes[0].value, .n = sizes[1].value, .k = sizes[2].value};
  if (sizes.size() > 3) gemm.batch = sizes[3].value;
  if (sizes.size() > 3 && gemm.batch == 1) {
    throw Error("'" + problem.key() + "' is one product: it has no batch");
  }
  check_operands(gemm);
  set_layout(gemm, traits[1].value);
  gemm.math = math_from_string(traits[2].value);
  gemm.types = types_from_string(traits[0].value);
  return gemm;
}

std::vector<GemmProblem> with_stricter_maths(const GemmProblem& problem) {
  std::vector<GemmProblem> result;
  for (auto math = static_cast<int>(problem.math); math >= 0; --math) {
    result.push_back(problem);
    result.back().math = static_cast<Math>(math);
  }
  return result;
}

std::optional<GemmProblem> if_gemm(const Problem& problem) {
  if (!gemm_operation().has(problem)) return std::nullopt;
  return gemm_problem(problem);
}

std::string to_string(const GemmProblem& problem) {
  std::string text =
      std::to_string(problem.m) + "x" + std::to_string(problem.n) + "x" + std::to_string(problem.k);
  const std::string layout = layout_text(problem);
  if (layout != "NN") text += " " + layout;
  if (problem.order != Order::row_major) text += " column-major";
  if (problem.batch != 1) text += " batch " + std::to_string(problem.batch);
  return problem.types == GemmTypes() ? text : text + " " + to_string(problem.types);
}

std::string to_string(const GemmTypes& types) {
  const auto join = [](std::initializer_list<ElementType> all) {
    std::string text;
    for (const ElementType type : all) text += (text.empty() ? "" : "-") + to_string(type);
    return text;
  };
  const bool is_double = types.c == ElementType::f64;
  const bool is_usual =
      types.a == types.b && types.accumulate == (is_double ? ElementType::f64 : ElementType::f32);
  if (!is_usual) return join({types.a, types.b, types.c, types.accumulate});
  return types.a == types.c ? to_string(types.a) : join({types.a, types.c});
}

GemmTypes types_from_string(const std::string& text) {
  if (text == "f32") return {};  // what cost models ask of every configuration
  std::vector<ElementType> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('-', begin), text.size());
    all.push_back(element_type_from_string(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  GemmTypes types;
  if (all.size() <= 2) {
    types = {all.front(), all.front(), all.back(),
             all.back() == ElementType::f64 ? ElementType::f64 : ElementType::f32};
  } else if (all.size() == 4) {
    types = {all[0], all[1], all[2], all[3]};
  }
  if (to_string(types) == text) return types;
  throw UsageError(
      fmt::format("element types '{}' are unknown: use f32, bf16-f32 and the like", text));
}

std::string to_string(Math math) {
  const auto index = static_cast<std::size_t>(math);
  if (index < kMathNames.size()) return std::string(kMathNames[index]);
  throw Error("unknown math mode " + std::to_string(index));
}

std::string layout_text(const GemmProblem& problem) {
  const auto letter = [](Transpose op) { return op == Transpose::none ? "N" : "T"; };
  return std::string(letter(problem.op_a)) + letter(problem.op_b);
}

Math math_from_string(const std::string& text) {
  const auto* const name = std::find(kMathNames.begin(), kMathNames.end(), text);
  if (name != kMathNames.end()) return static_cast<Math>(name - kMathNames.begin());
  throw UsageError(
      fmt::format("math mode '{}' is unknown: use one of {}", text, fmt::join(kMathNames, ", ")));
}

void set_layout(GemmProblem& problem, const std::string& layout) {
  if (layout.size() != 2 || layout.find_first_not_of("NT") != std::string::npos) {
    throw UsageError("layout '" + layout + "' is unknown: use NN, NT, TN or TT");
  }
  problem.op_a = layout[0] == 'T' ? Transpose::transposed : Transpose::none;
  problem.op_b = layout[1] == 'T' ? Transpose::transposed : Transpose::none;
}

}  // namespace autotune
