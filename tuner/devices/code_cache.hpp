// What was measured, by what ran: configurations that the compiler makes the same machine code of,
// launched alike, are measured once.
#pragma once

#include <map>
#include <string>

#include "core/launch_geometry.hpp"
#include "core/trial.hpp"

namespace autotune {

// Equal for configurations that run the same on a problem. `code` is BuiltKernel's.
[[nodiscard]] std::string execution_key(const Problem& problem, const std::string& template_name,
                                        const std::string& code, const LaunchGeometry& geometry);

class CodeCache {
 public:
  // What became of a configuration that runs the same on the problem, as a trial of this one:
  // `trial` with its outcome, and a detail that names it. False when there is none.
  bool reuse(Trial& trial, const std::string& code, const LaunchGeometry& geometry);
  // Keeps what says something of the code; a worker that died may have been killed by somebody.
  void keep(const Trial& trial, const std::string& code, const LaunchGeometry& geometry);

  // Trials that were filled in.
  [[nodiscard]] std::int64_t reused() const { return reused_; }

 private:
  std::map<std::string, Trial> trials_;
  std::int64_t reused_ = 0;
};

}  // namespace autotune
