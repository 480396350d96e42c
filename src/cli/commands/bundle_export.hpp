// autotune export --bundle: writes kernels for applications that have no compiler.
#pragma once

#include <string>

#include "cli/options/options.hpp"

namespace autotune {

struct BundleOptions {
  std::string path;
  bool force = false;     // overwrite what is no bundle
  bool portfolio = true;  // with kernels for other sizes too
};

// Returns the exit code.
int run_bundle_export(const Options& options, const BundleOptions& bundle);

}  // namespace autotune
