// JSON forms of the core values, for the messages of workers (as CBOR), the files in db/tuned/ and
// the samples in the database. Integers stay integers. Unknown keys are ignored when reading, and
// members whose keys are absent keep their defaults. Readers throw json::exception for another
// form, Error for a number that its member cannot hold.
#pragma once

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include "core/launch_geometry.hpp"
#include "core/trial.hpp"
#include "core/winner.hpp"

namespace autotune {

// Throws Error for a number that is not whole or has more than 64 bits.
[[nodiscard]] std::int64_t whole_number(const nlohmann::json& json);

// A problem is written as its key, a string that is empty for an empty problem. An object, which
// winners of version 0.1 have instead, is ignored: the row that holds the winner names its problem.
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
