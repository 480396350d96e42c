// What --device and --arch ask for together.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "autotune/error.hpp"

#include "cli/options/options.hpp"
#include "db/tuning_database.hpp"
#include "gpu/nvrtc.hpp"
#include "select/lookup.hpp"

namespace autotune {

// The device that is named, the one that is here, or an architecture alone.
struct Target {
  DeviceQuery query;
  std::string architecture;  // empty: that of the device's winners
};

// `database` may be null.
[[nodiscard]] Target choose_target(const Options& options, const TuningDatabase* database);
// The target's own, or that of its device's winners. Throws UsageError where nothing is known of
// the device.
[[nodiscard]] std::string architecture_of(const Target& target, const TuningDatabase* database);

// The error that refuses an unknown architecture.
[[nodiscard]] UsageError unknown_architecture(const std::string& architecture);
// Throws it for an architecture whose limits are unknown, and that no NVRTC here compiles for.
void check_known(const std::string& architecture);

// The compiler here. Throws EnvironmentError where there is none, or where it does not compile for
// the architecture.
[[nodiscard]] std::shared_ptr<const gpu::Nvrtc> compiler_for(const std::string& architecture);

// Any device of an architecture, which is its label: what follows from the architecture is known.
// Returns nullopt for an architecture whose limits are unknown.
[[nodiscard]] std::optional<DeviceInfo> device_of_architecture(const std::string& architecture);

}  // namespace autotune
