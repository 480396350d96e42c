// The ways in which a known configuration can fit a problem.
#pragma once

#include <string>

#include "autotune/export.hpp"

namespace autotune {

// From the best match to the worst.
enum class MatchKind {
  exact,         // tuned for this device class and problem, in this environment
  exact_stale,   // the same, measured with another driver, NVRTC build, template source or protocol
  nearest_size,  // tuned for this device class and another problem, one that is near
  predicted,     // not tuned: the best predicted time, or the template's own guess
};

// "exact", "exact, stale", "nearest size", "predicted".
[[nodiscard]] AUTOTUNE_API std::string to_string(MatchKind kind);

}  // namespace autotune
