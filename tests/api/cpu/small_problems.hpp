// Problems that take the CPU device little time, and how they are tuned.
#pragma once

#include "autotune/autotune.hpp"

namespace autotune::test {

inline const LibraryOptions kCpu{.device = Device::cpu()};
inline const TuningOptions kFewTrials{.budget_trials = 6};
inline const GemmProblem kOdd{.m = 7, .n = 1, .k = 3};
inline const GemmProblem kSmall{.m = 70, .n = 33, .k = 51};

}  // namespace autotune::test
