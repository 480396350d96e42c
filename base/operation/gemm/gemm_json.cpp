#include "operation/gemm/gemm_json.hpp"

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

json gemm_json(const Problem& problem) {
  const GemmProblem p = gemm_problem(problem);
  json j = {
      {"m", p.m}, {"n", p.n}, {"k", p.k}, {"layout", layout_text(p)}, {"math", to_string(p.math)}};
  if (p.batch != 1) j["batch"] = p.batch;
  if (p.types != GemmTypes()) j["type"] = to_string(p.types);
  return j;
}

Problem gemm_from_json(const json& j) {
  GemmProblem p{.m = size_from(j.at("m")), .n = size_from(j.at("n")), .k = size_from(j.at("k"))};
  if (j.contains("batch")) p.batch = size_from(j.at("batch"));
  set_layout(p, j.value("layout", "NN"));
  p.math = math_from_string(j.value("math", "strict"));
  p.types = types_from_string(j.value("type", to_string(GemmTypes())));
  check_operands(p);
  return p;
}

}  // namespace autotune
