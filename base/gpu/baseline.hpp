// Kernels of other libraries, with which this program's are compared.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel_signature.hpp"
#include "core/problem.hpp"
#include "gpu/stream.hpp"

namespace autotune::gpu {

// Belongs to the context and stream that it was made with, and to one thread.
class Baseline {
 public:
  virtual ~Baseline() = default;
  [[nodiscard]] virtual const std::string& version() const = 0;
  // The number of algorithms for a problem: the library's own choice, number 0, and others that it
  // proposes.
  [[nodiscard]] virtual int algorithms(const Problem& problem, const LaunchValues& values) = 0;
  // Puts the computation of a problem on the stream. Throws Error.
  virtual void launch(const Problem& problem, const LaunchValues& values, int algorithm) = 0;
};

struct NamedBaseline {
  std::string name;  // of MeasureRequest::baseline
  // Throws EnvironmentError when the library is not there.
  std::function<std::unique_ptr<Baseline>(const Driver&, const Stream&)> make;
};

// The baselines that the program was built with.
[[nodiscard]] const std::vector<NamedBaseline>& built_in_baselines();

}  // namespace autotune::gpu
