#include "tuner/lane.hpp"

#include <utility>

namespace autotune {

CandidateSpace::CandidateSpace(const KernelTemplate& template_, std::vector<Configuration> valid)
    : kernel(&template_), configurations(std::move(valid)) {
  for (std::size_t i = 0; i < configurations.size(); ++i) index.emplace(configurations[i], i);
}

std::optional<std::size_t> CandidateSpace::index_of(const Configuration& configuration) const {
  const auto found = index.find(configuration);
  return found == index.end() ? std::nullopt : std::optional(found->second);
}

Lane::Lane(const GemmProblem& problem, const CandidateSpace& space, const std::string& strategy,
           std::uint64_t seed)
    : problem_(problem),
      space_(&space),
      strategy_(make_strategy(strategy, {&space.configurations, seed})),
      default_(space.index_of(space.kernel->default_configuration(problem))),
      default_taken_(!default_) {}

std::optional<std::size_t> Lane::propose() {
  if (!std::exchange(default_taken_, true)) return default_;
  std::optional<std::size_t> index = strategy_->next();
  // The strategy learns of the default only once it was measured, so it may name it meanwhile.
  if (index && index == default_ && !trials_.contains(*index)) index = strategy_->next();
  return index;
}

void Lane::record(std::size_t index, Trial trial) {
  strategy_->report(index, trial);
  const Trial& stored = trials_.insert_or_assign(index, std::move(trial)).first->second;
  if (!stored.ok()) return;
  const Trial* leader = best();
  if (leader == nullptr || stored.measurement.median_us < leader->measurement.median_us) {
    best_ = index;
  }
}

bool Lane::record_known(Trial trial) {
  const std::optional<std::size_t> index = space_->index_of(trial.configuration);
  if (!index) return false;
  if (index == default_) default_taken_ = true;
  ++known_;
  record(*index, std::move(trial));
  return true;
}

const Trial* Lane::best() const {
  return best_ ? &trials_.at(*best_) : nullptr;
}

}  // namespace autotune
