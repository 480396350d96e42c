#include "db/shipped_winners.hpp"

#include <algorithm>
#include <span>

#include <nlohmann/json.hpp>
#include <strings.h>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"
#include "core/json.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_tuned();

std::vector<Winner> shipped_winners(const std::string& device_class,
                                    const std::string& device_label) {
  std::vector<Winner> winners;
  for (const EmbeddedFile& file : embedded_tuned()) {
    std::string_view text = file.text;
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (line.empty()) continue;
      try {
        auto winner = nlohmann::json::parse(line).get<Winner>();
        const bool wanted = (device_class.empty() || winner.device_class == device_class) &&
                            (device_label.empty() ||
                             ::strcasecmp(winner.device_label.c_str(), device_label.c_str()) == 0);
        if (wanted) winners.push_back(std::move(winner));
      } catch (const nlohmann::json::exception& error) {
        throw Error("the shipped winners in " + std::string(file.name) +
                    " do not parse: " + error.what());
      }
    }
  }
  return winners;
}

}  // namespace autotune
