#include "operation/problem_json.hpp"

#include <limits>

#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "core/json.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {

using nlohmann::json;

namespace {

std::int64_t size_from(const json& value) {
  const std::int64_t size = whole_number(value);
  if (size < 1 || size > std::numeric_limits<std::int32_t>::max()) {
    throw Error("a size is not from 1 to 2147483647");
  }
  return size;
}

}  // namespace

void to_json(json& j, const GemmProblem& p) {
  j = json{
      {"m", p.m}, {"n", p.n}, {"k", p.k}, {"layout", layout_text(p)}, {"math", to_string(p.math)}};
  if (p.batch != 1) j["batch"] = p.batch;
  if (p.types != GemmTypes()) j["type"] = to_string(p.types);
}

void from_json(const json& j, GemmProblem& p) {
  p.m = size_from(j.at("m"));
  p.n = size_from(j.at("n"));
  p.k = size_from(j.at("k"));
  if (j.contains("batch")) p.batch = size_from(j.at("batch"));
  set_layout(p, j.value("layout", "NN"));
  p.math = math_from_string(j.value("math", "strict"));
  p.types = types_from_string(j.value("type", to_string(GemmTypes())));
}

json exported_problem(const Problem& problem) {
  if (problem.operation() != kGemm) return problem.key();
  return gemm_problem(problem);
}

std::vector<std::pair<std::string, std::string>> exported_columns(const Problem& problem) {
  std::vector<std::pair<std::string, std::string>> columns;
  for (const auto& [name, value] : problem.sizes()) {
    columns.emplace_back(name, std::to_string(value));
  }
  for (const auto& [name, value] : problem.traits()) {
    // FP32 is what a file without the column has.
    if (problem.operation() == kGemm && name == "type" && value == to_string(GemmTypes())) continue;
    columns.emplace_back(name, value);
  }
  return columns;
}

Problem problem_from_export(const json& j) {
  const Problem problem =
      j.is_string() ? Problem::parse(j.get<std::string>()) : Problem(j.get<GemmProblem>());
  if (problem.operation() == kGemm) static_cast<void>(gemm_problem(problem));  // which checks it
  return problem;
}

}  // namespace autotune
