// The measured trials, by machine code and launch: configurations that share both are measured
// once.
#pragma once

#include <map>
#include <string>

#include "core/launch_geometry.hpp"
#include "core/trial.hpp"

namespace autotune {

// Equal for configurations with the same machine code and launch on a problem. `code` is
// BuiltKernel's.
[[nodiscard]] std::string execution_key(const Problem& problem, const std::string& template_name,
                                        const std::string& code, const LaunchGeometry& geometry);

class CodeCache {
 public:
  // Fills `trial` with the outcome of a configuration with the same machine code and launch, and a
  // detail that names that configuration. False when there is none.
  bool reuse(Trial& trial, const std::string& code, const LaunchGeometry& geometry);
  // Keeps an outcome that the code caused. A worker that died may have been killed by another
  // process.
  void keep(const Trial& trial, const std::string& code, const LaunchGeometry& geometry);

  // The number of trials that were filled in.
  [[nodiscard]] std::int64_t reused() const { return reused_; }

 private:
  std::map<std::string, Trial> trials_;
  std::int64_t reused_ = 0;
};

}  // namespace autotune
