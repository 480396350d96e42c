// The measured trials, by machine code and launch: configurations that share both are measured
// once.
#pragma once

#include <map>
#include <string>

#include "core/launch_geometry.hpp"
#include "core/trial.hpp"

namespace autotune {

// Returns a text that is equal for configurations with the same machine code and launch on a
// problem. `code` is that of the BuiltKernel.
[[nodiscard]] std::string execution_key(const Problem& problem, const std::string& template_name,
                                        const std::string& code, const LaunchGeometry& geometry);

class CodeCache {
 public:
  // Fills `trial` with the outcome of a configuration with the same machine code and launch, and
  // with a detail that names that configuration. Returns false when there is none.
  bool reuse(Trial& trial, const std::string& code, const LaunchGeometry& geometry);
  // Keeps the outcome if the code caused it. The death of a worker is not kept, because another
  // process may have killed the worker.
  void keep(const Trial& trial, const std::string& code, const LaunchGeometry& geometry);

  // The number of trials that were filled in.
  [[nodiscard]] std::int64_t reused() const { return reused_; }

 private:
  std::map<std::string, Trial> trials_;
  std::int64_t reused_ = 0;
};

}  // namespace autotune
