#include "tuner/replay/stopping.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "tuner/search/convergence.hpp"

namespace autotune {
namespace {

struct Stop {
  std::size_t trials;
  double reached;  // the true share
};

std::optional<Stop> run_until(double share, const RecordedSpace& space, const std::string& strategy,
                              std::uint64_t seed, const Prior& estimate,
                              const ReplayOptions& options) {
  const auto made = make_strategy(strategy, {&space.configurations, seed, estimate});
  Convergence convergence(strategy);
  bool stops = false;
  const std::vector<double> parts =
      replay_once(space, *made, options, [&](std::size_t index, double) {
        convergence.report(space.trial(index));
        stops = convergence.reached_share() >= share;
        return !stops;
      });
  if (!stops) return std::nullopt;
  return Stop{parts.size(), parts.back()};
}

}  // namespace

StoppingRecord replay_until(double share, const RecordedSpace& space, const std::string& strategy,
                            const ReplayOptions& options, ThreadPool& threads,
                            const std::function<void()>& on_repeat) {
  std::vector<std::optional<Stop>> stops(options.repeats);
  const Prior estimate = options.use_shipped_winners ? prior_for(space) : Prior();
  for_each_repeat(options, threads, on_repeat, [&](std::size_t repeat, std::uint64_t seed) {
    stops[repeat] = run_until(share, space, strategy, seed, estimate, options);
  });
  StoppingRecord record;
  double stopped = 0;
  for (const std::optional<Stop>& stop : stops) {
    if (!stop) continue;
    ++stopped;
    record.mean_trials += static_cast<double>(stop->trials);
    record.right += stop->reached >= share ? 1 : 0;
  }
  record.stopped = stopped / static_cast<double>(options.repeats);
  record.mean_trials /= std::max(stopped, 1.0);
  record.right /= std::max(stopped, 1.0);
  return record;
}

}  // namespace autotune
