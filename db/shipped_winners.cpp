#include "db/shipped_winners.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"
#include "core/json.hpp"
#include "core/posix/no_fork.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_tuned();

namespace {

[[noreturn]] void fail(const EmbeddedFile& file, const std::string& why) {
  throw Error("the shipped winners in " + std::string(file.name) + " do not parse: " + why);
}

// A line of a file. The members that filters compare are found in its text, because parsing all
// lines would be most of an answer's cost; the whole line is parsed when it is first asked for.
class ShippedWinner {
 public:
  ShippedWinner(const EmbeddedFile& file, std::string_view line) : file_(file), line_(line) {
    key_.device_class = text_of("silicon_class");
    key_.device_label = text_of("device_label");
    key_.problem = Problem::parse(text_of("problem"));
  }

  // The device and the problem.
  [[nodiscard]] const Winner& key() const { return key_; }

  // Where memory runs out in std::call_once, glibc ends the program, so there is a mutex.
  [[nodiscard]] const Winner& whole() {
    const std::lock_guard lock(mutex_);
    try {
      if (!whole_) whole_ = nlohmann::json::parse(line_).get<Winner>();
    } catch (const nlohmann::json::exception& error) {
      fail(file_, error.what());
    }
    return *whole_;
  }

 private:
  // The text of a member as `db winners` writes it: without spaces around it or escapes in it.
  [[nodiscard]] std::string_view text_of(const std::string& member) const {
    const std::string before = "\"" + member + "\":\"";
    const std::size_t found = line_.find(before);
    if (found == std::string_view::npos) fail(file_, "a line has no " + member);
    const std::string_view rest = line_.substr(found + before.size());
    return rest.substr(0, rest.find('"'));
  }

  const EmbeddedFile& file_;
  std::string_view line_;
  Winner key_;
  std::mutex mutex_;
  std::optional<Winner> whole_;
};

std::deque<ShippedWinner>& all_shipped() {
  static auto& all = *[] {
    auto* const winners = new std::deque<ShippedWinner>;
    for (const EmbeddedFile& file : embedded_tuned()) {
      std::string_view text = file.text;
      while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!line.empty()) winners->emplace_back(file, line);
      }
    }
    return winners;
  }();
  return all;
}

}  // namespace

std::vector<const Winner*> shipped_winners(const ResultFilter& filter) {
  const NoFork until_made;
  std::vector<const Winner*> result;
  for (ShippedWinner& winner : all_shipped()) {
    if (matches(filter, winner.key())) result.push_back(&winner.whole());
  }
  return result;
}

std::vector<Problem> shipped_problems(const ResultFilter& filter) {
  const NoFork until_made;
  std::vector<Problem> result;
  for (const ShippedWinner& winner : all_shipped()) {
    if (matches(filter, winner.key())) result.push_back(winner.key().problem);
  }
  return result;
}

}  // namespace autotune
