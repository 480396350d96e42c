#include "operation/problem_json.hpp"

#include <nlohmann/json.hpp>

#include "operation/gemm/gemm.hpp"
#include "operation/gemm/gemm_json.hpp"

namespace autotune {

using nlohmann::json;

json exported_problem(const Problem& problem) {
  return problem.operation() == kGemm ? gemm_json(problem) : json(problem.key());
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
  if (!j.is_string()) return gemm_from_json(j);
  const Problem problem = Problem::parse(j.get<std::string>());
  if (problem.operation() == kGemm) static_cast<void>(gemm_problem(problem));  // which checks it
  return problem;
}

}  // namespace autotune
