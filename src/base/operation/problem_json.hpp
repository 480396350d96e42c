// The JSON form of problems in files that programs exchange: exports, recorded spaces.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "autotune/problem.hpp"

#include "core/problem.hpp"

namespace autotune {

// {"m":1,"n":2,"k":3,"layout":"NN","math":"strict"}; layout and math may be absent.
void to_json(nlohmann::json& json, const GemmProblem& problem);
void from_json(const nlohmann::json& json, GemmProblem& problem);

// The object above for matrix multiplication, the key for problems of any other operation.
[[nodiscard]] nlohmann::json exported_problem(const Problem& problem);
// Reads either. Throws nlohmann::json::exception or Error.
[[nodiscard]] Problem problem_from_export(const nlohmann::json& json);

}  // namespace autotune
