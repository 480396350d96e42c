#include "db/shipped_winners.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"
#include "core/json.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_tuned();

namespace {

void add_winners(const EmbeddedFile& file, std::vector<Winner>& winners) {
  std::string_view text = file.text;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty()) continue;
    try {
      winners.push_back(nlohmann::json::parse(line).get<Winner>());
    } catch (const nlohmann::json::exception& error) {
      throw Error("the shipped winners in " + std::string(file.name) +
                  " do not parse: " + error.what());
    }
  }
}

std::vector<Winner> embedded_winners() {
  std::vector<Winner> winners;
  for (const EmbeddedFile& file : embedded_tuned()) add_winners(file, winners);
  return winners;
}

}  // namespace

const std::vector<Winner>& shipped_winners() {
  static const std::vector<Winner> winners = embedded_winners();
  return winners;
}

std::vector<const Winner*> shipped_winners(const ResultFilter& filter) {
  std::vector<const Winner*> result;
  for (const Winner& winner : shipped_winners()) {
    if (matches(filter, winner)) result.push_back(&winner);
  }
  return result;
}

}  // namespace autotune
