// The JSON form of problems in files that programs exchange: exports, recorded spaces.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "autotune/problem.hpp"

#include "core/problem.hpp"

namespace autotune {

// {"m":1,"n":2,"k":3,"layout":"NN","math":"strict"}; layout and math may be absent. Of a batch with
// "batch":64.
void to_json(nlohmann::json& json, const GemmProblem& problem);
void from_json(const nlohmann::json& json, GemmProblem& problem);

// Returns the object above for matrix multiplication, and the key for any other operation.
[[nodiscard]] nlohmann::json exported_problem(const Problem& problem);
// Returns the columns of a problem in tables, with their values: "m", "n", "k", "layout" and "math"
// for matrix multiplication, all sizes and traits for any other operation.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> exported_columns(
    const Problem& problem);
// Reads both forms of exported_problem(). Throws nlohmann::json::exception or Error.
[[nodiscard]] Problem problem_from_export(const nlohmann::json& json);

}  // namespace autotune
