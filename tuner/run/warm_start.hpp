// Where the search of a problem begins: with what has won before.
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
  bool won_here = false;  // for this very problem, on this silicon
};

// Configurations of the space that won for this problem, for others or on other devices: those of
// the nearest problems first, at most eight. Winners of other templates, and configurations that
// the space does not have, are left out.
[[nodiscard]] std::vector<WarmStart> warm_starts(const Problem& problem,
                                                 const std::string& device_class,
                                                 const CandidateSpace& space,
                                                 std::span<const Winner> winners);

}  // namespace autotune
