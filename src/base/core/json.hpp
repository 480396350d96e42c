// JSON forms of the core values: what workers exchange (as CBOR), what db/tuned/ holds, what the
// database keeps of samples. Integers stay integers; unknown keys are ignored when reading, absent
// ones keep their defaults.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/launch_geometry.hpp"
#include "core/trial.hpp"
#include "core/winner.hpp"

namespace autotune {

// A problem's key as a string, which is empty for no problem. Of an object, as winners of version
// 0.1 have it, nothing is read: the row that holds the winner names its problem.
void to_json(nlohmann::json& json, const Problem& problem);
void from_json(const nlohmann::json& json, Problem& problem);

// An object: parameter name -> integer. JSON objects are kept in alphabetical order, so reading
// gives the parameters in that order; ConfigSpace::validated() restores the template's.
void to_json(nlohmann::json& json, const Configuration& configuration);
void from_json(const nlohmann::json& json, Configuration& configuration);

void to_json(nlohmann::json& json, const LaunchGeometry& geometry);
void from_json(const nlohmann::json& json, LaunchGeometry& geometry);

void to_json(nlohmann::json& json, const Measurement& measurement);
void from_json(const nlohmann::json& json, Measurement& measurement);

void to_json(nlohmann::json& json, const Verification& verification);
void from_json(const nlohmann::json& json, Verification& verification);

void to_json(nlohmann::json& json, const Resources& resources);
void from_json(const nlohmann::json& json, Resources& resources);

void to_json(nlohmann::json& json, const Environment& environment);
void from_json(const nlohmann::json& json, Environment& environment);

void to_json(nlohmann::json& json, const DeviceRates& rates);
void from_json(const nlohmann::json& json, DeviceRates& rates);
void to_json(nlohmann::json& json, const Winner& winner);
void from_json(const nlohmann::json& json, Winner& winner);

}  // namespace autotune
