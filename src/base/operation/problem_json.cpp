#include "operation/problem_json.hpp"

#include <nlohmann/json.hpp>

#include "operation/gemm/gemm.hpp"

namespace autotune {

using nlohmann::json;

void to_json(json& j, const GemmProblem& p) {
  j = json{
      {"m", p.m}, {"n", p.n}, {"k", p.k}, {"layout", layout_text(p)}, {"math", to_string(p.math)}};
}

void from_json(const json& j, GemmProblem& p) {
  j.at("m").get_to(p.m);
  j.at("n").get_to(p.n);
  j.at("k").get_to(p.k);
  set_layout(p, j.value("layout", "NN"));
  p.math = math_from_string(j.value("math", "strict"));
}

json exported_problem(const Problem& problem) {
  if (problem.operation() != kGemm) return problem.key();
  return gemm_problem(problem);
}

Problem problem_from_export(const json& j) {
  if (j.is_string()) return Problem::parse(j.get<std::string>());
  return j.get<GemmProblem>();
}

}  // namespace autotune
