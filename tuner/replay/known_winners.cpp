#include "tuner/replay/known_winners.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace autotune {
namespace {

bool is_copy(const RecordedSpace& a, const RecordedSpace& b) {
  return a.name == b.name && a.configurations.size() == b.configurations.size() &&
         a.best_us == b.best_us;
}

const Configuration& winner_of(const RecordedSpace& space) {
  const auto winner =
      std::ranges::find_if(space.outcomes, [&](const RecordedSpace::Outcome& outcome) {
        return outcome.status == TrialStatus::ok && outcome.us == space.best_us;
      });
  return space.configurations[static_cast<std::size_t>(winner - space.outcomes.begin())];
}

// The configuration in the parameters of a space; none if that has others.
std::optional<std::size_t> place_in(const RecordedSpace& space, const Configuration& configuration,
                                    const RecordedSpace& of) {
  const auto own = space.configurations.front().entries();
  if (own.size() != configuration.values().size()) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const auto& [name, value] : own) {
    if (!configuration.contains(name)) return std::nullopt;
    const std::optional<std::int64_t> number =
        space.number_of(name, of.text_of(name, configuration.at(name)));
    if (!number) return std::nullopt;
    values.push_back(*number);
  }
  const auto found = std::ranges::find(space.configurations, values, &Configuration::values);
  if (found == space.configurations.end()) return std::nullopt;
  return static_cast<std::size_t>(found - space.configurations.begin());
}

}  // namespace

void begin_with_winners(RecordedSpace& space, const std::vector<RecordedSpace>& others) {
  for (const RecordedSpace& other : others) {
    if (is_copy(space, other) || space.template_name != other.template_name) continue;
    const std::optional<std::size_t> place = place_in(space, winner_of(other), other);
    if (!place || std::ranges::find(space.known, *place) != space.known.end()) continue;
    space.known.push_back(*place);
  }
}

}  // namespace autotune
