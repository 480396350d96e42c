// What analyze knows of the device that it is asked about, with or without that device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/lookup.hpp"
#include "core/occupancy.hpp"
#include "db/tuning_database.hpp"

namespace autotune {

struct AnalyzedDevice {
  std::string label;         // empty when none is named
  std::string architecture;  // empty when unknown
  SmLimits sm;               // of the architecture, then as --limit has them
  int sm_count = 0;          // 0: unknown
  std::optional<DeviceRates> rates;
  DeviceQuery query;  // finds the winners of a device; of none for an architecture alone
  std::vector<std::string> notes;
};

// `device`: a label that results are stored or shipped for, or the label or number of a GPU that is
// here. Neither: the GPU that is here, if there is one. `limits`: "NAME=VALUE" each; bytes of
// shared_per_sm are for the blocks' own use, so nothing is reserved of them. Throws UsageError for
// both, for unknown names and for wrong limits; EnvironmentError for a numbered GPU that is absent.
[[nodiscard]] AnalyzedDevice analyzed_device(const std::string& architecture,
                                             const std::string& device,
                                             const std::vector<std::string>& limits,
                                             const TuningDatabase* database);

}  // namespace autotune
