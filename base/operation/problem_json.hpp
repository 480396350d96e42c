// The JSON form of problems in files that programs exchange: exports, recorded spaces.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/problem.hpp"

namespace autotune {

// Returns an object for matrix multiplication (gemm_json()), and the key for any other operation.
[[nodiscard]] nlohmann::json exported_problem(const Problem& problem);
// Returns the columns of a problem in tables, with their values: "m", "n", "k", "layout" and "math"
// for matrix multiplication, all sizes and traits for any other operation.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> exported_columns(
    const Problem& problem);
// Reads both forms of exported_problem(). Throws nlohmann::json::exception or Error.
[[nodiscard]] Problem problem_from_export(const nlohmann::json& json);

}  // namespace autotune
