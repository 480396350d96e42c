#include "cli/gemm_output.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "operation/gemm/gemm.hpp"

namespace autotune {

using Json = nlohmann::ordered_json;

std::string math_text(const Problem& problem) {
  const std::optional<GemmProblem> gemm = if_gemm(problem);
  return gemm ? to_string(gemm->math) : "-";
}

std::string short_size_text(const Problem& problem) {
  if (!if_gemm(problem)) return to_string(problem);
  const GemmProblem gemm = gemm_problem(problem);
  const bool is_cube = gemm.m == gemm.n && gemm.n == gemm.k;
  const std::string size =
      is_cube ? std::to_string(gemm.m) : fmt::format("{}x{}x{}", gemm.m, gemm.n, gemm.k);
  return gemm.batch == 1 ? size : fmt::format("{} batch {}", size, gemm.batch);
}

Json size_json(const std::optional<Problem>& problem) {
  if (!problem) return {{"m", nullptr}, {"n", nullptr}, {"k", nullptr}};
  Json sizes;
  for (const auto& [name, value] : problem->sizes()) sizes[name] = value;
  return sizes;
}

Json problem_json(const Problem& problem) {
  if (!if_gemm(problem)) return {{"problem", problem.key()}};
  Json part = size_json(problem);
  part["layout"] = problem.trait("layout");
  part["math"] = problem.trait("math");
  const std::string& type = problem.trait("type");
  if (type != to_string(GemmTypes())) part["type"] = type;
  return part;
}

std::vector<std::string> problem_columns(const Json& results) {
  const auto has = [&](const char* member) {
    return std::ranges::any_of(results, [&](const Json& entry) { return entry.contains(member); });
  };
  std::vector<std::string> columns = {"m", "n", "k", "layout", "math"};
  if (has("batch")) columns.insert(columns.begin() + 3, "batch");
  if (has("problem")) columns.insert(columns.begin(), "problem");
  return columns;
}

}  // namespace autotune
