#include "db/tables/time_check.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace autotune {

TimeCheck::TimeCheck(const PossibleTime& is_possible, std::vector<StoredRates> own,
                     const std::vector<StoredRates>& others)
    : is_possible_(is_possible), rates_(std::move(own)) {
  rates_.insert(rates_.end(), others.begin(), others.end());
}

std::int64_t TimeCheck::erase_impossible(std::vector<OtherTrial>& trials) const {
  return static_cast<std::int64_t>(std::erase_if(trials, [this](const OtherTrial& trial) {
    return trial.columns.status == to_string(TrialStatus::ok) &&
           !accepts(trial.scope->device_class, trial.scope->environment, trial.scope->template_name,
                    trial.problem, trial.columns.median_us);
  }));
}

std::int64_t TimeCheck::erase_impossible(std::vector<WinnerRow>& winners) const {
  return static_cast<std::int64_t>(std::erase_if(winners, [this](const WinnerRow& row) {
    const Winner& winner = row.winner;
    return !accepts(winner.device_class, winner.environment, winner.template_name, winner.problem,
                    winner.median_us);
  }));
}

bool TimeCheck::accepts(const std::string& device_class, const Environment& environment,
                        const std::string& template_name, const Problem& problem, double us) const {
  if (!is_possible_) return true;
  const auto known = std::ranges::find_if(rates_, [&](const StoredRates& one) {
    return one.device_class == device_class && one.environment == environment;
  });
  return is_possible_(template_name, problem, us,
                      known == rates_.end() ? std::nullopt : std::optional(known->rates));
}

}  // namespace autotune
