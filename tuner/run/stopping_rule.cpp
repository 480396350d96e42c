#include "tuner/run/stopping_rule.hpp"

#include <algorithm>

#include "tuner/search/regret.hpp"

namespace autotune {

double reached_share(const std::vector<const Lane*>& lanes) {
  std::vector<Outlook> outlooks;
  const Trial* best = nullptr;
  for (const Lane* lane : lanes) {
    outlooks.emplace_back(lane->space().configurations, lane->trials(), lane->estimate());
    const Trial* own = lane->best();
    if (own == nullptr) continue;
    if (best == nullptr || own->measurement.median_us < best->measurement.median_us) best = own;
  }
  return best == nullptr ? 0 : reached_share(outlooks, best->measurement.median_us);
}

StoppingRule::StoppingRule(std::optional<double> share, const std::vector<const Lane*>& lanes)
    : share_(share) {
  for (const Lane* lane : lanes) {
    Progress& progress = problems_[lane->problem()];
    progress.lanes.push_back(lane);
    progress.next_look = kFirstLook;
  }
}

bool StoppingRule::holds(const GemmProblem& problem) {
  if (!share_) return false;
  Progress& progress = problems_.at(problem);
  std::size_t trials = 0;
  for (const Lane* lane : progress.lanes) trials += lane->trials().size();
  if (progress.reached || trials < progress.next_look) return progress.reached;
  progress.next_look = look_after(trials);
  progress.reached = reached_share(progress.lanes) >= *share_;
  return progress.reached;
}

bool StoppingRule::has_held() const {
  return std::any_of(problems_.begin(), problems_.end(),
                     [](const auto& entry) { return entry.second.reached; });
}

}  // namespace autotune
