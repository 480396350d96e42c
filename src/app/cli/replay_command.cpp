// autotune replay: runs search strategies over spaces that were measured before.
#include <algorithm>
#include <limits>
#include <optional>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/option_values.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/table.hpp"
#include "core/json.hpp"
#include "operation/gemm/gemm.hpp"
#include "operation/problem_json.hpp"
#include "tuner/replay/replay.hpp"
#include "tuner/replay/stopping.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {
namespace {

struct ReplayCommandOptions : Options {
  std::vector<std::string> files;
};

// A curve for each strategy, over one space or on average over all.
struct Replayed {
  const RecordedSpace* space = nullptr;  // nullptr: the average over all spaces
  std::vector<ReplayCurve> curves;
  std::vector<StoppingRecord> stops;  // with --until, of a single space
};

ReplayOptions replay_options(const ReplayCommandOptions& options) {
  return {.trials = static_cast<std::size_t>(options.budget.trials.value_or(400)),
          .repeats = static_cast<std::size_t>(options.repeats),
          .seed = static_cast<std::uint64_t>(options.seed),
          .in_flight = static_cast<std::size_t>(options.in_flight),
          .use_shipped_winners = !options.no_shipped};
}

// The spaces of the sizes that were asked for, in any layout.
std::vector<RecordedSpace> read_spaces(const ReplayCommandOptions& options) {
  std::vector<RecordedSpace> spaces;
  for (const std::string& file : options.files) {
    for (RecordedSpace& space : read_recorded_spaces(file)) spaces.push_back(std::move(space));
  }
  if (options.sizes.empty()) return spaces;
  std::vector<RecordedSpace> chosen;
  for (const GemmProblem& size : options.sizes) {
    const std::size_t before = chosen.size();
    for (const RecordedSpace& space : spaces) {
      if (space.problem && same_size(gemm_problem(*space.problem), size)) chosen.push_back(space);
    }
    if (chosen.size() == before) {
      throw UsageError("--sizes: " + to_string(size) + " was not recorded in these files");
    }
  }
  return chosen;
}

std::vector<Replayed> replay_all(const std::vector<RecordedSpace>& spaces,
                                 const std::vector<std::string>& strategies,
                                 const ReplayOptions& options, std::optional<double> until) {
  ThreadPool threads(std::max(1U, std::thread::hardware_concurrency()));
  ProgressLine line;
  TuneProgress progress{.phase = "replay"};
  progress.total = static_cast<std::int64_t>(spaces.size() * strategies.size() * options.repeats *
                                             (until ? 2 : 1));
  const auto on_repeat = [&] {
    ++progress.done;
    line.show(progress);
  };
  std::vector<Replayed> results;
  std::vector<std::vector<ReplayCurve>> by_strategy(strategies.size());
  for (const RecordedSpace& space : spaces) {
    Replayed& replayed = results.emplace_back();
    replayed.space = &space;
    for (std::size_t i = 0; i < strategies.size(); ++i) {
      replayed.curves.push_back(replay(space, strategies[i], options, threads, on_repeat));
      by_strategy[i].push_back(replayed.curves.back());
      if (!until) continue;
      replayed.stops.push_back(
          replay_until(*until, space, strategies[i], options, threads, on_repeat));
    }
  }
  if (spaces.size() < 2) return results;
  Replayed& all = results.emplace_back();
  for (const auto& curves : by_strategy) all.curves.push_back(average(curves));
  return results;
}

std::string title(const Replayed& replayed, std::size_t spaces) {
  if (replayed.space == nullptr) return fmt::format("average of {} spaces", spaces);
  return fmt::format("{}: {} configurations, {} correct", replayed.space->name,
                     replayed.space->configurations.size(), replayed.space->correct);
}

void print_tables(const std::vector<Replayed>& results, const std::vector<std::string>& strategies,
                  const ReplayOptions& options, std::size_t spaces) {
  fmt::print("% of the optimum after this many trials, {} runs each: mean and 5th percentile\n",
             options.repeats);
  for (const Replayed& replayed : results) {
    std::vector<std::string> header = {"strategy", ""};
    for (const std::size_t count : checkpoints(options.trials)) {
      header.push_back(std::to_string(count));
    }
    Table table(header);
    const auto add = [&](const std::string& name, const char* what,
                         const std::vector<double>& parts) {
      std::vector<std::string> row = {name, what};
      for (const double part : parts) row.push_back(fmt::format("{:.1f}", 100 * part));
      table.add(std::move(row));
    };
    for (std::size_t i = 0; i < strategies.size(); ++i) {
      add(strategies[i], "mean", replayed.curves[i].mean);
      add("", "5th", replayed.curves[i].low);
    }
    fmt::print("\n{}\n{}", title(replayed, spaces), table.text());
  }
}

// Prints how many searches --until ends, how soon, and how often the estimate is right.
void print_stops(const std::vector<Replayed>& results, const std::vector<std::string>& strategies,
                 double until) {
  fmt::print("\nruns that end at an estimated {}% of the best\n", 100 * until);
  Table table({"space", "strategy", "ended %", "mean trials", "right %"});
  for (const Replayed& replayed : results) {
    for (std::size_t i = 0; i < replayed.stops.size(); ++i) {
      const StoppingRecord& record = replayed.stops[i];
      const bool any = record.stopped > 0;
      table.add({i == 0 ? replayed.space->name : "", strategies[i],
                 fmt::format("{:.0f}", 100 * record.stopped),
                 any ? fmt::format("{:.0f}", record.mean_trials) : "-",
                 any ? fmt::format("{:.1f}", 100 * record.right) : "-"});
    }
  }
  fmt::print("{}", table.text());
}

nlohmann::ordered_json space_json(const Replayed& replayed,
                                  const std::vector<std::string>& strategies,
                                  const ReplayOptions& options) {
  nlohmann::ordered_json entry;
  if (replayed.space != nullptr) {
    entry["name"] = replayed.space->name;
    entry["problem"] = nullptr;
    if (replayed.space->problem) entry["problem"] = exported_problem(*replayed.space->problem);
    entry["configurations"] = replayed.space->configurations.size();
    entry["correct"] = replayed.space->correct;
    entry["best_us"] = replayed.space->best_us;
  }
  const std::vector<std::size_t> counts = checkpoints(options.trials);
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    nlohmann::ordered_json curve = {{"strategy", strategies[i]}};
    for (std::size_t at = 0; at < counts.size(); ++at) {
      curve["curve"].push_back({{"trials", counts[at]},
                                {"mean", replayed.curves[i].mean[at]},
                                {"percentile_5", replayed.curves[i].low[at]}});
    }
    if (!replayed.stops.empty()) {
      curve["until"] = {{"ended", replayed.stops[i].stopped},
                        {"mean_trials", replayed.stops[i].mean_trials},
                        {"right", replayed.stops[i].right}};
    }
    entry["strategies"].push_back(std::move(curve));
  }
  return entry;
}

void print_json(const std::vector<Replayed>& results, const std::vector<std::string>& strategies,
                const ReplayOptions& options) {
  nlohmann::ordered_json document = {{"schema", 1},
                                     {"command", "replay"},
                                     {"trials", options.trials},
                                     {"repeats", options.repeats},
                                     {"seed", options.seed},
                                     {"in_flight", options.in_flight},
                                     {"spaces", nlohmann::ordered_json::array()},
                                     {"average", nullptr}};
  for (const Replayed& replayed : results) {
    nlohmann::ordered_json entry = space_json(replayed, strategies, options);
    if (replayed.space != nullptr) {
      document["spaces"].push_back(std::move(entry));
    } else {
      document["average"] = std::move(entry);
    }
  }
  fmt::print("{}\n", document.dump(2));
}

int run_replay(const ReplayCommandOptions& command) {
  const ReplayOptions options = replay_options(command);
  const std::vector<std::string> strategies =
      command.strategies.empty() ? strategy_names() : command.strategies;
  const std::vector<RecordedSpace> spaces = read_spaces(command);
  const std::vector<Replayed> results = replay_all(spaces, strategies, options, command.until);
  if (command.json) {
    print_json(results, strategies, options);
  } else {
    print_tables(results, strategies, options, spaces.size());
    if (command.until) print_stops(results, strategies, *command.until);
  }
  return exit_code::kDone;
}

}  // namespace

void add_replay_command(CommandLine& line) {
  auto [command, options] =
      add_command(line, "replay", "Run strategies over recorded spaces, without a GPU", run_replay);
  command
      .add_option("files", options.files,
                  "T4 results, cache files of Kernel Tuner, or output of db export; also .zst")
      ->required()
      ->type_name("FILE");
  const std::string strategies =
      fmt::format("{}, separated by commas (default: all)", fmt::join(strategy_names(), ", "));
  add_options(command, options,
              {{"--strategy", strategies},
               {"--trials", "Trials of each run (default 400)"},
               {"--sizes", "Only the spaces of these sizes, in any layout"},
               {"--until", "Also end runs at this estimated share of the best, to check it"}});
  add_options(command, options, {"--seed", "--repeats", "--in-flight", "--no-shipped", "--json"});
}

}  // namespace autotune
