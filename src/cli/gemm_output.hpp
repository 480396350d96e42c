// Matrix multiplications in tables, JSON and CSV: what Operation::text does not say of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/problem.hpp"

namespace autotune {

// "strict"; "-" for a problem of another operation.
[[nodiscard]] std::string math_text(const Problem& problem);
// "1024" for three equal sizes, else "1024x512x2048", without layout and math.
[[nodiscard]] std::string short_size_text(const Problem& problem);

// {"m": 1, "n": 2, "k": 3}, of a batch with "batch" behind them; {"m": null, "n": null, "k": null}
// without a problem.
[[nodiscard]] nlohmann::ordered_json size_json(const std::optional<Problem>& problem);
// The same with {"layout": "NN", "math": "strict"}, and with "type" unless that is f32; for a
// problem of another operation {"problem": KEY}.
[[nodiscard]] nlohmann::ordered_json problem_json(const Problem& problem);
// The names of these members that results have as columns of CSV.
[[nodiscard]] std::vector<std::string> problem_columns(const nlohmann::ordered_json& results);

}  // namespace autotune
