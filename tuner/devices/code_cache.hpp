// The measured trials, by machine code and launch: configurations that share both are measured
// once.
#pragma once

#include <compare>
#include <map>
#include <string>

#include "core/launch_geometry.hpp"
#include "core/problem.hpp"
#include "core/trial.hpp"

namespace autotune {

// The launch that a configuration makes. Two configurations count as one if they agree in all of
// it: a launch that differs in anything may take another time.
struct Execution {
  Problem problem;
  std::string template_name;
  std::string code;  // of the BuiltKernel
  LaunchGeometry geometry;

  auto operator<=>(const Execution&) const = default;
};

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
  std::map<Execution, Trial> trials_;
  std::int64_t reused_ = 0;
};

}  // namespace autotune
