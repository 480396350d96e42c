// Where the search of a problem begins: with what has won elsewhere.
#pragma once

#include <span>
#include <vector>

#include "core/winner.hpp"
#include "tuner/lane.hpp"

namespace autotune {

// Configurations of the space that won for other problems, or on other devices: those of the
// nearest problems first, at most eight. Winners of other templates, and configurations that the
// space does not have, are left out.
[[nodiscard]] std::vector<Configuration> starting_points(const GemmProblem& problem,
                                                         const CandidateSpace& space,
                                                         std::span<const Winner> winners);

}  // namespace autotune
