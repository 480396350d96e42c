// Gaussian processes of the same values with several covariances, each weighed by how likely it is.
#pragma once

#include <vector>

#include "tuner/search/surrogate/gaussian_process.hpp"

namespace autotune {

struct WeighedCovariance {
  Covariance covariance;
  double weight;  // of all of a mixture the sum is 1
};

// What a mixture keeps of a point.
struct MixtureCache {
  std::vector<PosteriorCache> parts;
  double disagreement = 0;  // the variance of the processes' means
};

// Has the mean and the deviation of the mixed distributions: where the processes disagree, the
// deviation is larger.
class ProcessMixture {
 public:
  ProcessMixture(const std::vector<WeighedCovariance>& covariances, const Points& points,
                 const std::vector<double>& values);

  // As those of GaussianProcess.
  void add_pending(const float* point);
  [[nodiscard]] QuickPosterior quick_posterior(const float* point) const;
  void update(const float* point, MixtureCache& cache) const;
  [[nodiscard]] double deviation(const MixtureCache& cache) const;

 private:
  [[nodiscard]] double disagreement(const float* point) const;

  struct Part {
    GaussianProcess process;
    double weight;
  };
  std::vector<Part> parts_;
};

}  // namespace autotune
