// The choice of the trials that meet again in finals.
#pragma once

#include <vector>

#include "tuner/devices/finals.hpp"
#include "tuner/run/search_task.hpp"

namespace autotune {

// No finalist is slower than the best trial by more than this factor.
inline constexpr double kFinalistMargin = 1.05;

// The correct trials of a problem's tasks that were sampled to the end and are close to the best:
// previous winners first, then the others, fastest first. Their kernels are not built yet.
[[nodiscard]] std::vector<Finalist> choose_finalists(const std::vector<SearchTask*>& tasks);

}  // namespace autotune
