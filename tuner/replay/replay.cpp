#include "tuner/replay/replay.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>

namespace autotune {
namespace {

// The seeds of different options.seed do not overlap.
std::uint64_t seed_of(const ReplayOptions& options, std::size_t repeat) {
  return options.seed * 1'000'003 + repeat;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double fifth_percentile(std::vector<double> values) {
  const auto rank = static_cast<std::ptrdiff_t>((values.size() + 19) / 20 - 1);
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[static_cast<std::size_t>(rank)];
}

ReplayCurve curve_of(const std::vector<std::vector<double>>& runs, std::size_t trials) {
  ReplayCurve curve;
  for (const std::size_t count : checkpoints(trials)) {
    std::vector<double> parts;
    for (const std::vector<double>& run : runs) {
      parts.push_back(run.empty() ? 0 : run[std::min(count, run.size()) - 1]);
    }
    curve.mean.push_back(mean(parts));
    curve.low.push_back(fifth_percentile(std::move(parts)));
  }
  return curve;
}

}  // namespace

std::vector<double> replay_once(const RecordedSpace& space, SearchStrategy& strategy,
                                const ReplayOptions& options,
                                const std::function<bool(std::size_t, double)>& goes_on) {
  std::deque<std::size_t> in_flight;
  std::size_t begun = 0;  // of the known configurations
  const auto next = [&]() -> std::optional<std::size_t> {
    if (begun < space.known.size()) return space.known[begun++];
    std::optional<std::size_t> index = strategy.next();
    // The strategy does not know that these are tried before they are reported.
    while (index && std::ranges::find(in_flight, *index) != in_flight.end()) {
      index = strategy.next();
    }
    return index;
  };
  std::vector<double> parts;
  double best = 0;
  while (parts.size() < options.trials) {
    while (in_flight.size() < options.in_flight &&
           parts.size() + in_flight.size() < options.trials) {
      const std::optional<std::size_t> index = next();
      if (!index) break;
      in_flight.push_back(*index);
    }
    if (in_flight.empty()) break;
    const std::size_t index = in_flight.front();
    const Trial trial = space.trial(index);
    strategy.report(index, trial);
    in_flight.pop_front();
    if (trial.ok()) best = std::max(best, space.best_us / trial.measurement.median_us);
    parts.push_back(best);
    if (!goes_on(index, best)) break;
  }
  return parts;
}

void for_each_repeat(const ReplayOptions& options, ThreadPool& threads,
                     const std::function<void()>& on_repeat,
                     const std::function<void(std::size_t, std::uint64_t)>& run) {
  std::mutex mutex;
  std::exception_ptr fault;
  threads.for_each(options.repeats, [&](std::size_t repeat, std::size_t) {
    std::exception_ptr thrown;
    try {
      if (options.stop.stop_requested()) throw ReplayStopped();
      run(repeat, seed_of(options, repeat));
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    if (thrown) fault = thrown;
    on_repeat();
  });
  if (fault) std::rethrow_exception(fault);
}

std::vector<std::size_t> checkpoints(std::size_t trials) {
  std::vector<std::size_t> result;
  std::size_t count = 10;
  while (count < trials) {
    result.push_back(count);
    count = count == 10 ? 25 : count * 2;
  }
  result.push_back(trials);
  return result;
}

ReplayCurve replay(const RecordedSpace& space, const std::string& strategy,
                   const ReplayOptions& options, ThreadPool& threads,
                   const std::function<void()>& on_repeat) {
  std::vector<std::vector<double>> runs(options.repeats);
  const Prior estimate = options.use_shipped_winners ? prior_for(space) : Prior();
  for_each_repeat(options, threads, on_repeat, [&](std::size_t repeat, std::uint64_t seed) {
    const auto made = make_strategy(strategy, {&space.configurations, seed, estimate});
    runs[repeat] = replay_once(space, *made, options);
  });
  return curve_of(runs, options.trials);
}

ReplayCurve average(const std::vector<ReplayCurve>& curves) {
  ReplayCurve result = curves.front();
  for (std::size_t i = 0; i < result.mean.size(); ++i) {
    std::vector<double> means;
    std::vector<double> lows;
    for (const ReplayCurve& curve : curves) {
      means.push_back(curve.mean[i]);
      lows.push_back(curve.low[i]);
    }
    result.mean[i] = mean(means);
    result.low[i] = mean(lows);
  }
  return result;
}

}  // namespace autotune
