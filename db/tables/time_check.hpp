// The check of the times that a merge would take in.
#pragma once

#include <cstdint>
#include <vector>

#include "core/possible_time.hpp"
#include "db/tables/trial_merge.hpp"
#include "db/tables/winner_table.hpp"

namespace autotune {

// Judges by the rates of this database, or else by those of the other one. Without a judge, every
// time is possible.
class TimeCheck {
 public:
  // `is_possible` outlives this object.
  TimeCheck(const PossibleTime& is_possible, std::vector<StoredRates> own,
            const std::vector<StoredRates>& others);

  // Erases rows with times that are not possible, and returns their number.
  std::int64_t erase_impossible(std::vector<OtherTrial>& trials) const;
  std::int64_t erase_impossible(std::vector<WinnerRow>& winners) const;

 private:
  [[nodiscard]] bool accepts(const std::string& device_class, const Environment& environment,
                             const std::string& template_name, const Problem& problem,
                             double us) const;

  const PossibleTime& is_possible_;
  std::vector<StoredRates> rates_;
};

}  // namespace autotune
