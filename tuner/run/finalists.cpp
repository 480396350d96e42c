#include "tuner/run/finalists.hpp"

#include <algorithm>

namespace autotune {

std::vector<Finalist> choose_finalists(const std::vector<SearchTask*>& tasks) {
  std::vector<Finalist> finalists;
  for (const SearchTask* task : tasks) {
    for (const auto& [index, trial] : task->trials()) {
      if (!trial.ok() || trial.measurement.screened_out) continue;
      finalists.push_back({.kernel = &task->kernel(),
                           .configuration = trial.configuration,
                           .problem = trial.problem,
                           .screened_us = trial.measurement.median_us,
                           .won_before = task->has_won(index)});
    }
  }
  if (finalists.empty()) return finalists;
  std::stable_sort(finalists.begin(), finalists.end(), [](const Finalist& a, const Finalist& b) {
    return a.screened_us < b.screened_us;
  });
  const double limit_us = kFinalistMargin * finalists.front().screened_us;
  std::erase_if(finalists, [&](const Finalist& f) { return f.screened_us > limit_us; });
  std::stable_partition(finalists.begin(), finalists.end(),
                        [](const Finalist& finalist) { return finalist.won_before; });
  return finalists;
}

}  // namespace autotune
