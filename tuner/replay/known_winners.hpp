// What a search knows from other devices and problems: the winners of other recordings.
#pragma once

#include <vector>

#include "tuner/replay/recorded_space.hpp"

namespace autotune {

// Replays of `space` begin with the best configurations of those `others` that are of the same
// kernel: of the same template with the same parameters. A copy of the space tells it nothing.
void begin_with_winners(RecordedSpace& space, const std::vector<RecordedSpace>& others);

}  // namespace autotune
