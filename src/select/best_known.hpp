// The best known configuration for a problem, on a device that need not be here: what was tuned for
// it, else what is predicted, else what was tuned for the nearest problem.
#pragma once

#include <optional>
#include <vector>

#include "autotune/problem.hpp"

#include "db/tuning_database.hpp"
#include "select/lookup.hpp"
#include "select/predictor.hpp"

namespace autotune {

struct BestKnown {
  GemmProblem problem;
  std::optional<Match> match;
  std::vector<Prediction> predictions = {};  // the best first; they go before a match

  [[nodiscard]] bool known() const { return match || !predictions.empty(); }
};

// `database` may be null. Without shipped winners nothing is predicted. `kernel` is the template
// that is asked for; null: any.
[[nodiscard]] BestKnown best_known(const TuningDatabase* database, const DeviceQuery& device,
                                   const GemmProblem& problem, const KernelTemplate* kernel);

}  // namespace autotune
