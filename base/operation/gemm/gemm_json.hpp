// The JSON form of matrix multiplications in files that programs exchange (operation/problem_json).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/problem.hpp"

namespace autotune {

// {"m":1,"n":2,"k":3,"layout":"NN","math":"strict"}, of a batch with "batch":64, and with "type"
// but for FP32. Layout, math, batch and type may be absent where it is read. Both throw what
// gemm_problem() throws, and the second nlohmann::json::exception.
[[nodiscard]] nlohmann::json gemm_json(const Problem& problem);
[[nodiscard]] Problem gemm_from_json(const nlohmann::json& json);

}  // namespace autotune
