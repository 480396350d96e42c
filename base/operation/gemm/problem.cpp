#include "autotune/problem.hpp"

#include <algorithm>
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

constexpr const char* kBatch = "batch";
constexpr std::size_t kProductSizes = 3;  // m, n, k

}  // namespace

GemmProblem::operator Problem() const {
  const GemmProblem rows = row_major();
  std::vector<Problem::Size> sizes = {{"m", rows.m}, {"n", rows.n}, {"k", rows.k}};
  // A single product has the key that it had before there were batches.
  if (rows.batch != 1) sizes.push_back({kBatch, rows.batch});
  return {kGemm,
          std::move(sizes),
          {{"type", to_string(ElementType::f32)},
           {"layout", layout_text(rows)},
           {"math", to_string(math)}}};
}

GemmProblem gemm_problem(const Problem& problem) {
  if (problem.operation() != kGemm) throw Error("'" + problem.key() + "' is not a " + kGemm);
  GemmProblem gemm{.m = problem.size("m"), .n = problem.size("n"), .k = problem.size("k")};
  if (problem.sizes().size() > kProductSizes) gemm.batch = problem.size(kBatch);
  if (std::min({gemm.m, gemm.n, gemm.k, gemm.batch}) < 1) {
    throw Error("'" + problem.key() + "' has a size below 1");
  }
  set_layout(gemm, problem.trait("layout"));
  gemm.math = math_from_string(problem.trait("math"));
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

std::string to_string(const GemmProblem& problem) {
  std::string text =
      std::to_string(problem.m) + "x" + std::to_string(problem.n) + "x" + std::to_string(problem.k);
  const std::string layout = layout_text(problem);
  if (layout != "NN") text += " " + layout;
  if (problem.order != Order::row_major) text += " column-major";
  return problem.batch == 1 ? text : text + " batch " + std::to_string(problem.batch);
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
