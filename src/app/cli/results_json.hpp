// The one JSON schema of results, for tune, query, run and sweep (docs/cli.md).
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "autotune/problem.hpp"

#include "core/device_info.hpp"
#include "core/trial.hpp"
#include "core/winner.hpp"

namespace autotune {

// {"schema": 1, "command": ..., "device": ..., "results": [], "measured": 0, "known": 0}. The
// device may be null: then the label alone is known.
[[nodiscard]] nlohmann::ordered_json results_document(const std::string& command,
                                                      const DeviceInfo* device,
                                                      const std::string& device_label);
// One entry of "results". `status` is "ok" or a trial's, `match` as to_string(MatchKind) or
// "measured".
[[nodiscard]] nlohmann::ordered_json result_entry(const Winner& winner, const std::string& match);
[[nodiscard]] nlohmann::ordered_json result_entry(const Trial& trial);
// An entry for a problem without a correct configuration.
[[nodiscard]] nlohmann::ordered_json empty_entry(const GemmProblem& problem,
                                                 const std::string& status);

}  // namespace autotune
