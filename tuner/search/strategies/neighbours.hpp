// Configurations that differ from one in few parameters.
#pragma once

#include <cstddef>
#include <vector>

#include "autotune/configuration.hpp"

#include "tuner/search/strategies/untried.hpp"

namespace autotune {

struct Neighbour {
  std::size_t index;
  std::size_t distance;  // number of parameters that differ
};

// The untried configurations that differ from `leader` in at most `most_different` parameters, no
// more than `at_most`: the nearest first, equally near ones in the order of `untried`.
[[nodiscard]] std::vector<Neighbour> find_neighbours(
    const std::vector<Configuration>& configurations, const Untried& untried, std::size_t leader,
    std::size_t most_different, std::size_t at_most);

}  // namespace autotune
