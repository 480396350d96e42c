// What the trials of one problem and device say of the times of another.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/trial.hpp"
#include "tuner/model/encoding.hpp"
#include "tuner/model/gaussian_process.hpp"
#include "tuner/strategy.hpp"

namespace autotune {

// How near configurations come to their estimates: what an estimate leaves out (how phases overlap,
// what the compiler makes of a parameter) is much the same for another size, or another device. A
// Gaussian process of estimate / time.
class Experience {
 public:
  // `times_us`: of the configurations at `indices`, at least one; `estimate`: of the problem and
  // the device that they were measured with.
  Experience(const std::vector<Configuration>& configurations,
             const std::vector<std::size_t>& indices, const std::vector<double>& times_us,
             const Estimate& estimate);

  // time / estimate, up to a factor that is the same for all: 1 for what comes nearest, at most 20.
  [[nodiscard]] double slowness(const Configuration& configuration) const;

 private:
  Encoding encoding_;
  std::optional<GaussianProcess> process_;  // none where no parameter varies
};

}  // namespace autotune
