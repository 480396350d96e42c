#include "api/gemm_backend.hpp"

namespace autotune {

BestConfiguration nothing_to_choose(const GemmProblem& problem) {
  BestConfiguration best;
  best.match = MatchKind::exact;
  best.explanation = "there is nothing to multiply";
  best.tuned_for = problem;
  return best;
}

}  // namespace autotune
