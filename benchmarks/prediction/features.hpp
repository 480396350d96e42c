// Adds to collected trials the features of their candidates, which the trees are fitted to.
#pragma once

#include <string>

#include "kernel_templates/kernel_set.hpp"

namespace autotune {

// Reads the lines of collect() and writes them with other entries to the output, behind a line
// {"features": [names]}:
//
//   {"m": 64, ..., "entries": [{"template": "gemm_tma", "space_version": 2, "configuration": "...",
//                               "cycles": 61000.0, "us": 21.4, "features": [6, 9, ...]}, ...]}
//
// The cycles are those of today's cost model. Entries whose configuration is no longer valid are
// left out. Throws Error for a file that is not one of collect().
void write_features(const KernelSet& kernels, const std::string& trials, const std::string& output);

}  // namespace autotune
