// Searches of recorded spaces by `model`, for calibrate.py: a line for each, with the file, the
// space's best time and the times of the trials in their order, 0 for a failure. No search has a
// prior, as for a kernel that the program does not know.
// usage: search_traces TRIALS REPEATS FILE...
#include <exception>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "tuner/replay/replay.hpp"

namespace {

using namespace autotune;

void print_traces(const std::string& file, const ReplayOptions& options) {
  for (const RecordedSpace& space : read_recorded_spaces(file, built_in_kernels())) {
    ThreadPool threads(1);
    for_each_repeat(
        options, threads, [] {},
        [&](std::size_t, std::uint64_t seed) {
          const auto strategy = make_strategy("model", {&space.configurations, seed});
          fmt::print("{} {}", std::filesystem::path(file).filename().string(), space.best_us);
          static_cast<void>(replay_once(space, *strategy, options, [&](std::size_t index, double) {
            const Trial trial = space.trial(index);
            fmt::print(" {}", trial.ok() ? trial.measurement.median_us : 0);
            return true;
          }));
          fmt::print("\n");
        });
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count < 4) throw autotune::UsageError("usage: search_traces TRIALS REPEATS FILE...");
    const ReplayOptions options = {.trials = std::stoul(arguments[1]),
                                   .repeats = std::stoul(arguments[2])};
    for (int i = 3; i < count; ++i) print_traces(arguments[i], options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
