// The device that analyze computes for, present or not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "core/occupancy.hpp"
#include "db/tuning_database.hpp"
#include "select/lookup.hpp"

namespace autotune {

struct AnalyzedDevice {
  std::string label;         // empty when none is named
  std::string architecture;  // empty when unknown
  SmLimits sm;               // changed by --limit
  int sm_count = 0;          // 0: unknown
  std::optional<DeviceRates> rates;
  std::optional<DeviceQuery> query;  // finds its winners; none for an architecture alone
  std::vector<std::string> notes;
};

// The options name an architecture or a device: a label that results are stored or shipped for, or
// the label or number of a GPU that is here. If they name neither, it is the GPU that is here, if
// any. `limits` are "NAME=VALUE"; all bytes of shared_per_sm are for the blocks' own use, so none
// is reserved. Throws UsageError for an architecture together with a device, for unknown names and
// for wrong limits; EnvironmentError for a numbered GPU that is absent.
[[nodiscard]] AnalyzedDevice analyzed_device(const Options& options,
                                             const std::vector<std::string>& limits,
                                             const TuningDatabase* database);

}  // namespace autotune
