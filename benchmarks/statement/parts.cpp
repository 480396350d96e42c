// Searches by `model` of recorded spaces, or of their parts with one value of a parameter, for
// leaders.py: a line `S name best correct`, one `C time value...` for each configuration, and one
// `R index...` for each search. No search has a prior.
// usage: search_parts whole|parts TRIALS REPEATS FILE...
#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/replay/replay.hpp"

namespace {

using namespace autotune;

constexpr std::size_t kFewest = 700;  // configurations of a part, and at most 7 of 10

void print_searches(const std::string& name, const RecordedSpace& space,
                    const ReplayOptions& options) {
  fmt::print("S {} {} {}\n", name, space.best_us, space.correct);
  for (std::size_t i = 0; i < space.configurations.size(); ++i) {
    const bool ok = space.outcomes[i].status == TrialStatus::ok;
    fmt::print("C {} {}\n", ok ? space.outcomes[i].us : 0,
               fmt::join(space.configurations[i].values(), " "));
  }
  ThreadPool threads(1);
  for_each_repeat(
      options, threads, [] {},
      [&](std::size_t, std::uint64_t seed) {
        const auto strategy = make_strategy("model", {&space.configurations, seed});
        fmt::print("R");
        static_cast<void>(replay_once(space, *strategy, options, [](std::size_t index, double) {
          fmt::print(" {}", index);
          return true;
        }));
        fmt::print("\n");
      });
}

RecordedSpace part_of(const RecordedSpace& space, std::size_t parameter, std::int64_t value) {
  RecordedSpace part;
  for (std::size_t i = 0; i < space.configurations.size(); ++i) {
    if (space.configurations[i].values()[parameter] != value) continue;
    part.configurations.push_back(space.configurations[i]);
    part.outcomes.push_back(space.outcomes[i]);
    if (space.outcomes[i].status != TrialStatus::ok) continue;
    const double us = space.outcomes[i].us;
    part.best_us = part.correct++ == 0 ? us : std::min(part.best_us, us);
  }
  return part;
}

void print_parts(const std::string& file, const RecordedSpace& space,
                 const ReplayOptions& options) {
  std::size_t parameter = 0;
  for (const auto& [name, unused] : space.configurations.front().entries()) {
    std::map<std::int64_t, std::size_t> counts;
    for (const Configuration& each : space.configurations) ++counts[each.values()[parameter]];
    for (const auto& [value, count] : counts) {
      if (count < kFewest || 10 * count > 7 * space.configurations.size()) continue;
      print_searches(fmt::format("{}:{}={}", file, name, value), part_of(space, parameter, value),
                     options);
    }
    ++parameter;
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count < 5) throw UsageError("usage: search_parts whole|parts TRIALS REPEATS FILE...");
    const ReplayOptions options = {.trials = std::stoul(arguments[2]),
                                   .repeats = std::stoul(arguments[3])};
    for (int i = 4; i < count; ++i) {
      const std::string file = std::filesystem::path(arguments[i]).filename().string();
      for (const RecordedSpace& space : read_recorded_spaces(arguments[i], built_in_kernels())) {
        if (arguments[1] == std::string("parts")) {
          print_parts(file, space, options);
        } else {
          print_searches(file, space, options);
        }
      }
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
