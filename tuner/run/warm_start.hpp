// The configurations that the search of a problem begins with: earlier winners and predicted ones.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "autotune/configuration.hpp"

#include "core/problem.hpp"
#include "core/winner.hpp"

namespace autotune {

struct CandidateSpace;
struct Suggestion;

struct WarmStart {
  Configuration configuration;
  bool won_here = false;     // for this problem and this device class
  std::string other_device;  // the label of the device that it won on; empty for this device class
  bool is_expected = true;   // not just the winner of another problem
};

// At most nine configurations of the space: the winner of this problem on this device class, as
// many suggestions as make up five, the template's default, then what won for other problems or on
// other devices. Of these, winners of this device and of devices like it come first, and among them
// those of the nearest problems. Winners and suggestions of other templates and of other spaces are
// left out.
[[nodiscard]] std::vector<WarmStart> warm_starts(const Problem& problem,
                                                 const std::string& device_class,
                                                 const CandidateSpace& space,
                                                 std::span<const Winner> winners,
                                                 std::span<const Suggestion> suggestions = {});

}  // namespace autotune
