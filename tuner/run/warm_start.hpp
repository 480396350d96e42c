// The configurations that the search of a problem begins with: earlier winners.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "autotune/configuration.hpp"

#include "core/problem.hpp"
#include "core/winner.hpp"

namespace autotune {

struct CandidateSpace;

struct WarmStart {
  Configuration configuration;
  bool won_here = false;     // for this problem and this device class
  std::string other_device;  // the label of the device that it won on; empty for this device class
};

// At most eight configurations of the space that won for this problem, for other problems or on
// other devices. Those of this device and of devices like it come first, and among these those of
// the nearest problems. Winners of other templates and of other spaces are left out.
[[nodiscard]] std::vector<WarmStart> warm_starts(const Problem& problem,
                                                 const std::string& device_class,
                                                 const CandidateSpace& space,
                                                 std::span<const Winner> winners);

}  // namespace autotune
