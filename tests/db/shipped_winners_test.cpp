#include "db/shipped_winners.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>

#include <doctest/doctest.h>

#include "core/embedded_file.hpp"

namespace autotune {
std::span<const EmbeddedFile> embedded_tuned();
}

using namespace autotune;

TEST_SUITE("shipped winners") {
  TEST_CASE("every line parses and makes sense") {
    std::size_t lines = 0;
    for (const EmbeddedFile& file : embedded_tuned()) {
      for (const char c : file.text) lines += c == '\n' ? 1U : 0U;
    }
    const std::vector<const Winner*> winners = shipped_winners({});
    CHECK(winners.size() == lines);
    const std::vector<Problem> problems = shipped_problems({});
    std::set<std::tuple<std::string, Problem, std::string>> seen;
    for (std::size_t i = 0; i < winners.size(); ++i) {
      const Winner& winner = *winners[i];
      CAPTURE(to_string(winner.problem));
      CHECK(problems.at(i) == winner.problem);
      const ResultFilter its_own = {.device_class = winner.device_class,
                                    .device_label = winner.device_label,
                                    .problem = winner.problem};
      const std::vector<const Winner*> found = shipped_winners(its_own);
      CHECK(std::find(found.begin(), found.end(), &winner) != found.end());
      CHECK(winner.median_us > 0);
      CHECK(winner.low_us <= winner.median_us);
      CHECK(winner.median_us <= winner.high_us);
      CHECK_FALSE(winner.configuration.empty());
      CHECK_FALSE(winner.device_class.empty());
      CHECK(seen.emplace(winner.device_class, winner.problem, winner.template_name).second);
    }
  }

  TEST_CASE("they are filtered by label, device class and problem") {
    const std::vector<const Winner*> all = shipped_winners({});
    if (all.empty()) {
      MESSAGE("SKIPPED: no winners ship with this build");
      return;
    }
    std::string lower = all[0]->device_label;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::vector<const Winner*> by_label = shipped_winners({.device_label = lower});
    CHECK_FALSE(by_label.empty());
    for (const Winner* winner : by_label) CHECK(winner->device_label == all[0]->device_label);
    const std::vector<const Winner*> exact =
        shipped_winners({.device_class = all[0]->device_class, .problem = all[0]->problem});
    REQUIRE_FALSE(exact.empty());
    CHECK(exact[0] == all[0]);  // no copy, and read once
    CHECK_FALSE(shipped_winners({.device_class = all[0]->device_class}).empty());
    CHECK(shipped_winners({.device_class = "none"}).empty());
    CHECK(shipped_winners({.device_label = "none"}).empty());
    CHECK(shipped_winners({"none", lower}).empty());
  }
}
