// autotune replay: runs search strategies over spaces that were measured before.
#include <algorithm>
#include <numeric>
#include <optional>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/commands/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/interrupt.hpp"
#include "cli/options/options.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "operation/problem_json.hpp"
#include "tuner/replay/known_winners.hpp"
#include "tuner/replay/replay.hpp"
#include "tuner/replay/stopping.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {
namespace {

struct ReplayCommandOptions : Options {
  using Options::Options;

  std::vector<std::string> files;
  std::vector<std::string> known;
};

// A curve for each strategy, over one space or on average over all. The last one of an interrupted
// replay lacks strategies.
struct Replayed {
  const RecordedSpace* space = nullptr;  // nullptr: the average over all spaces
  std::vector<ReplayCurve> curves;
  std::vector<StoppingRecord> stops;  // with --until, of a single space
};

ReplayOptions replay_options(const ReplayCommandOptions& options, std::stop_token stop) {
  return {.trials = static_cast<std::size_t>(options.budget.trials.value_or(400)),
          .repeats = static_cast<std::size_t>(options.repeats),
          .seed = static_cast<std::uint64_t>(options.seed),
          .in_flight = static_cast<std::size_t>(options.in_flight),
          .use_shipped_winners = !options.no_shipped,
          .stop = std::move(stop)};
}

std::vector<RecordedSpace> spaces_in(const std::vector<std::string>& files,
                                     const KernelSet& kernels) {
  std::vector<RecordedSpace> spaces;
  for (const std::string& file : files) {
    for (RecordedSpace& space : read_recorded_spaces(file, kernels))
      spaces.push_back(std::move(space));
  }
  return spaces;
}

void read_known(const ReplayCommandOptions& options, std::vector<RecordedSpace>& spaces) {
  if (options.known.empty()) return;
  const std::vector<RecordedSpace> others = spaces_in(options.known, options.kernels());
  for (RecordedSpace& space : spaces) begin_with_winners(space, others);
  if (std::ranges::any_of(spaces, [](const RecordedSpace& space) { return !space.known.empty(); }))
    return;
  throw UsageError(
      "--known: no other recording of the same kernel is in these files: name one with the same "
      "parameters");
}

// The spaces of the sizes that were asked for, in any layout.
std::vector<RecordedSpace> read_spaces(const ReplayCommandOptions& options) {
  std::vector<RecordedSpace> spaces = spaces_in(options.files, options.kernels());
  read_known(options, spaces);
  if (options.sizes.empty()) return spaces;
  std::vector<RecordedSpace> chosen;
  for (const Problem& size : options.sizes) {
    const std::size_t before = chosen.size();
    for (const RecordedSpace& space : spaces) {
      if (space.problem && same_size(*space.problem, size)) chosen.push_back(space);
    }
    if (chosen.size() == before) {
      throw UsageError("--sizes: " + size_text(options.kernels(), size) +
                       " was not recorded in these files");
    }
  }
  return chosen;
}

std::vector<Replayed> replay_all(const std::vector<RecordedSpace>& spaces,
                                 const std::vector<std::string>& strategies,
                                 const ReplayOptions& options, std::optional<double> until,
                                 const std::string& progress_mode) {
  ThreadPool threads(std::max(1U, std::thread::hardware_concurrency()));
  ProgressLine line(progress_mode);
  TuneProgress progress{.phase = "replay"};
  progress.total = static_cast<std::int64_t>(spaces.size() * strategies.size() * options.repeats *
                                             (until ? 2 : 1));
  const auto on_repeat = [&] {
    ++progress.done;
    line.show(progress);
  };
  std::vector<Replayed> results;
  try {
    for (const RecordedSpace& space : spaces) {
      results.emplace_back().space = &space;
      for (const std::string& strategy : strategies) {
        ReplayCurve curve = replay(space, strategy, options, threads, on_repeat);
        if (until) {
          results.back().stops.push_back(
              replay_until(*until, space, strategy, options, threads, on_repeat));
        }
        results.back().curves.push_back(std::move(curve));
      }
    }
  } catch (const ReplayStopped&) {
    if (results.back().curves.empty()) results.pop_back();
    return results;
  }
  if (spaces.size() < 2) return results;
  Replayed all;
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    std::vector<ReplayCurve> curves;
    for (const Replayed& replayed : results) curves.push_back(replayed.curves[i]);
    all.curves.push_back(average(curves));
  }
  results.push_back(std::move(all));
  return results;
}

std::string title(const Replayed& replayed, std::size_t spaces) {
  if (replayed.space == nullptr) return fmt::format("average of {} spaces", spaces);
  const std::size_t known = replayed.space->known.size();
  return fmt::format("{}: {} configurations, {} correct{}", printable(replayed.space->name),
                     replayed.space->configurations.size(), replayed.space->correct,
                     known == 0 ? "" : fmt::format(", {} known", known));
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
    for (std::size_t i = 0; i < replayed.curves.size(); ++i) {
      add(strategies[i], "mean", replayed.curves[i].mean);
      add("", "5th", replayed.curves[i].low);
    }
    fmt::print("\n{}\n{}", title(replayed, spaces), table.text(output_columns()));
  }
}

// Prints how many searches --until ends, how soon, and how often that is right.
void print_stops(const std::vector<Replayed>& results, const std::vector<std::string>& strategies,
                 double until) {
  fmt::print("\nruns that end when they say {}% of the best\n", 100 * until);
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
  fmt::print("{}", table.text(output_columns()));
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
    entry["known"] = replayed.space->known.size();
  }
  const std::vector<std::size_t> counts = checkpoints(options.trials);
  for (std::size_t i = 0; i < replayed.curves.size(); ++i) {
    nlohmann::ordered_json curve = {{"strategy", strategies[i]}};
    for (std::size_t at = 0; at < counts.size(); ++at) {
      curve["curve"].push_back({{"trials", counts[at]},
                                {"mean", replayed.curves[i].mean[at]},
                                {"percentile_5", replayed.curves[i].low[at]}});
    }
    if (!replayed.stops.empty()) {
      const StoppingRecord& record = replayed.stops[i];
      const bool any = record.stopped > 0;
      curve["until"] = {{"ended", record.stopped},
                        {"mean_trials", any ? nlohmann::ordered_json(record.mean_trials) : nullptr},
                        {"right", any ? nlohmann::ordered_json(record.right) : nullptr}};
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
                                     {"interrupted", options.stop.stop_requested()},
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
  print_document(document);
}

int run_replay(const ReplayCommandOptions& command) {
  // Before signals are watched, so that one of them ends a wait for the writer of a pipe.
  const std::vector<RecordedSpace> spaces = read_spaces(command);
  const InterruptWatch interrupts;
  const ReplayOptions options = replay_options(command, interrupts.token());
  const std::vector<std::string> strategies =
      command.strategies.empty() ? strategy_names() : command.strategies;
  const std::vector<Replayed> results =
      replay_all(spaces, strategies, options, command.until, command.progress);
  const std::size_t done =
      std::accumulate(results.begin(), results.end(), std::size_t{0},
                      [](std::size_t sum, const Replayed& replayed) {
                        return sum + (replayed.space != nullptr ? replayed.curves.size() : 0);
                      });
  const bool interrupted = done < spaces.size() * strategies.size();
  if (interrupted) {
    say(fmt::format("interrupted: {} of {} replays are done", done,
                    spaces.size() * strategies.size()));
  }
  if (command.json) {
    print_json(results, strategies, options);
  } else if (!results.empty()) {
    print_tables(results, strategies, options, spaces.size());
    if (command.until) print_stops(results, strategies, *command.until);
  }
  return interrupted ? exit_code::kInterrupted : exit_code::kDone;
}

}  // namespace

void add_replay_command(CommandLine& line) {
  auto [command, options] =
      add_command(line, "replay", "Run strategies over recorded spaces, without a GPU", run_replay);
  refuse_empty(command.add_option(
                   "FILE", options.files,
                   "T4 results, caches of Kernel Tuner, results of KTT, output of db export; also "
                   ".gz, .zst; - is standard input"))
      ->required()
      ->type_name("");
  refuse_empty(
      command.add_option("--known", options.known,
                         "Begin with the winners of these recordings of the same kernel, on "
                         "other devices or of other problems"))
      ->type_name("FILE...");
  const std::string strategies =
      fmt::format("{}, separated by commas (default: all)", fmt::join(strategy_names(), ", "));
  add_options(command, options,
              {{"--strategy", strategies},
               {"--trials", "Trials of each run (default 400)"},
               {"--sizes", "Only the spaces of these sizes, in any layout"},
               {"--until",
                "Also test ending at this estimated share of the best: how many runs end, how many "
                "rightly"}});
  add_options(command, options,
              {"--seed", "--repeats", "--in-flight", "--no-shipped", "--progress", "--json"});
  command.footer(
      "autotune db export --output trials.t4.json.zst\n"
      "autotune replay trials.t4.json.zst --strategy model,random");
}

}  // namespace autotune
