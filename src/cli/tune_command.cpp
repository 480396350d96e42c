// autotune tune: the default command.
#include <charconv>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/command.hpp"
#include "cli/device_lock.hpp"
#include "cli/exit_codes.hpp"
#include "cli/interrupt.hpp"
#include "cli/progress.hpp"
#include "cli/results_json.hpp"
#include "cli/session.hpp"
#include "cli/size_list.hpp"
#include "cli/space_options.hpp"
#include "cli/table.hpp"
#include "tuner/strategy.hpp"

namespace autotune {
namespace {

struct TuneOptions {
  std::string sizes;
  std::string device = "auto";
  std::string layout = "NN";
  std::string math = "strict";
  SpaceOptions space;
  std::string budget;
  std::string trials;
  std::string strategy;
  std::string seed = "1";
  std::string database;
  std::string jobs;
  std::string compare;
  bool json = false;
  bool csv = false;
  bool dry_run = false;
  bool fresh = false;
  std::string command;
};

// "30", "30s", "5m", "1h" in seconds.
double parse_duration(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  const double seconds = value * scale;
  if (error != std::errc() || !(seconds > 0) || seconds > 1e9) {
    throw UsageError(fmt::format(
        "--budget: '{}' is no time from above 0 to 1e9 s, for example --budget 30s", text));
  }
  return seconds;
}

TuneRequest make_request(const TuneOptions& options) {
  TuneRequest request;
  request.problems = parse_sizes(options.sizes);
  for (GemmProblem& problem : request.problems) {
    problem.math = math_from_string(options.math);
    set_layout(problem, options.layout);
  }
  if (!options.space.templates.empty()) request.templates = options.space.chosen_templates();
  request.filter = options.space.filter();
  if (!options.budget.empty()) request.budget.seconds = parse_duration(options.budget);
  if (!options.trials.empty()) {
    request.budget.trials = parse_integers(options.trials, "--trials").front();
  }
  if (!options.strategy.empty()) {
    const std::vector<std::string> known = strategy_names();
    if (std::find(known.begin(), known.end(), options.strategy) == known.end()) {
      throw UsageError(fmt::format("--strategy: '{}' is unknown: use {}", options.strategy,
                                   fmt::join(known, ", ")));
    }
    request.strategy = options.strategy;
  }
  request.seed = static_cast<std::uint64_t>(parse_integers(options.seed, "--seed").front());
  request.fresh = options.fresh;
  if (!options.compare.empty() && options.compare != "cublas") {
    throw UsageError(fmt::format("--compare: '{}' is unknown: use cublas", options.compare));
  }
  request.compare_cublas = options.compare == "cublas";
  request.command = options.command;
  return request;
}

void print_space(const std::vector<SpaceSummary>& spaces) {
  for (const SpaceSummary& summary : spaces) {
    fmt::print("{}: {} of {} configurations are valid\n", summary.kernel->name,
               summary.enumeration.configurations.size(), summary.enumeration.raw_count);
    Table table({"rejected by", "configurations"});
    for (const auto& [name, count] : summary.enumeration.rejected) {
      table.add({name, std::to_string(count)});
    }
    fmt::print("{}", table.text());
  }
}

nlohmann::ordered_json space_json(const std::vector<SpaceSummary>& spaces) {
  nlohmann::ordered_json document = {{"schema", 1}, {"command", "tune"}, {"dry_run", true}};
  document["spaces"] = nlohmann::ordered_json::array();
  for (const SpaceSummary& summary : spaces) {
    nlohmann::ordered_json rejected = nlohmann::ordered_json::object();
    for (const auto& [name, count] : summary.enumeration.rejected) rejected[name] = count;
    document["spaces"].push_back({{"template", summary.kernel->name},
                                  {"valid", summary.enumeration.configurations.size()},
                                  {"configurations", summary.enumeration.raw_count},
                                  {"rejected", std::move(rejected)}});
  }
  return document;
}

int dry_run(const TuneRequest& request, const DeviceInfo& device, bool as_json) {
  const std::vector<SpaceSummary> spaces = summarize_space(request, device);
  std::size_t valid = 0;
  for (const SpaceSummary& summary : spaces) valid += summary.enumeration.configurations.size();
  const std::size_t trials = valid * request.problems.size();
  if (as_json) {
    nlohmann::ordered_json document = space_json(spaces);
    document["trials"] = trials;
    fmt::print("{}\n", document.dump(2));
  } else {
    print_space(spaces);
    fmt::print("{} trials over {} sizes\n", trials, request.problems.size());
  }
  return valid == 0 ? exit_code::kUsage : exit_code::kDone;
}

void print_json(const TuneReport& report, const DeviceInfo& device) {
  nlohmann::ordered_json document = results_document("tune", &device, device.label);
  for (const ProblemResult& result : report.problems) {
    auto entry = result.winner ? result_entry(*result.winner, "exact")
                               : empty_entry(result.problem, "none_correct");
    if (result.cublas_us) entry["cublas_us"] = *result.cublas_us;
    if (report.rates)
      entry["fma_fraction"] = result.winner ? gflops(result.problem, result.winner->median_us) /
                                                  report.rates->fma_gflops
                                            : 0;
    document["results"].push_back(std::move(entry));
  }
  if (report.rates) {
    document["rates"] = {{"fma_gflops", report.rates->fma_gflops},
                         {"copy_gbps", report.rates->copy_gbps}};
  }
  document["measured"] = report.measured;
  document["known"] = report.known;
  document["wall_s"] = report.wall_s;
  document["search_s"] = report.search_s;
  document["device_busy_s"] = report.device_busy_s;
  document["compile_busy_s"] = report.compile_busy_s;
  fmt::print("{}\n", document.dump(2));
}

Table result_table(const TuneReport& report) {
  const bool compared = std::any_of(report.problems.begin(), report.problems.end(),
                                    [](const ProblemResult& r) { return r.cublas_us.has_value(); });
  RateColumn rates;
  for (const ProblemResult& result : report.problems) {
    if (result.winner) rates.add(gflops(result.problem, result.winner->median_us));
  }
  std::vector<std::string> header = {"size", "time us", rates.title(), "of FMA rate"};
  if (compared) header.insert(header.end(), {"cuBLAS us", "ratio"});
  header.insert(header.end(), {"template", "configuration"});
  Table table(header);
  for (const ProblemResult& result : report.problems) {
    if (!result.winner) {
      table.add({to_string(result.problem), "-", "-", "-"});
      continue;
    }
    const Winner& winner = *result.winner;
    const double rate = gflops(result.problem, winner.median_us);
    std::vector<std::string> row = {
        to_string(result.problem), fmt::format("{:.1f}", winner.median_us), rates.text(rate),
        report.rates ? fmt::format("{:.1f}%", 100 * rate / report.rates->fma_gflops) : "-"};
    if (compared) {
      row.push_back(result.cublas_us ? fmt::format("{:.1f}", *result.cublas_us) : "-");
      row.push_back(result.cublas_us ? fmt::format("{:.3f}", *result.cublas_us / winner.median_us)
                                     : "-");
    }
    row.push_back(winner.template_name);
    row.push_back(to_string(winner.configuration));
    table.add(std::move(row));
  }
  return table;
}

// What became of the search, in a few lines below the table.
void print_summary(const TuneReport& report, const DeviceInfo& device, int compile_jobs) {
  fmt::print("\n{} measured, {} known, {:.1f} s", report.measured, report.known, report.wall_s);
  if (report.search_s > 0) {
    fmt::print(" (searching {:.1f} s: {} busy {:.0f} %, {} compile workers busy {:.0f} %)",
               report.search_s, device.is_host() ? "host device" : "GPU",
               100 * report.device_busy_s / report.search_s, compile_jobs,
               100 * report.compile_busy_s / (report.search_s * compile_jobs));
  }
  fmt::print("\n");
  for (const auto& [status, count] : report.statuses) {
    if (status != TrialStatus::ok) fmt::print("{}: {}\n", to_string(status), count);
  }
  for (const ProblemResult& result : report.problems) {
    if (!result.too_large.empty()) continue;  // said on standard error
    if (!result.winner) {
      fmt::print("{}: no configuration gave a correct result\n", to_string(result.problem));
    } else if (!result.winner->confirmed) {
      fmt::print("{}: unconfirmed, from the search alone\n", to_string(result.problem));
    } else if (!result.winner->ties.empty()) {
      fmt::print("{}: statistically tied with {} others, of which it is the cheapest\n",
                 to_string(result.problem), result.winner->ties.size());
    }
    if (result.winner && !result.winner->note.empty()) {
      fmt::print("{}: verified and timed on {}\n", to_string(result.problem), result.winner->note);
    }
  }
}

int exit_code_for(const TuneReport& report, bool stored) {
  if (report.interrupted) return exit_code::kInterrupted;
  for (const ProblemResult& result : report.problems) {
    if (result.winner) continue;
    return result.too_large.empty() ? exit_code::kNoneCorrect : exit_code::kEnvironment;
  }
  return stored ? exit_code::kDone : exit_code::kNotStored;
}

int run_tune(const TuneOptions& options) {
  const TuneRequest request = make_request(options);
  const int jobs =
      options.jobs.empty() ? 0 : static_cast<int>(parse_integers(options.jobs, "--jobs").front());
  const InterruptWatch interrupts;
  const DeviceInfo device = device_for(options.device);
  if (options.dry_run) return dry_run(request, device, options.json);
  if (request.compare_cublas && device.is_host()) {
    throw EnvironmentError("--compare cublas: the host device has no cuBLAS");
  }

  OpenedDatabase opened = open_database(options.database);
  if (!opened.problem.empty()) {
    fmt::print(stderr, "autotune: warning: {}; results of this run will not be kept\n",
               opened.problem);
  }
  const auto lock = lock_device(device, interrupts.token());
  if (const std::string warning = device_warning(device); !warning.empty()) {
    fmt::print(stderr, "autotune: warning: {}\n", warning);
  }
  CubinStore cubins = open_cubin_store();
  TunerSetup setup = make_setup(device, jobs);
  setup.database = &opened.database;
  setup.cubins = &cubins;

  TuneReport report;
  {
    ProgressLine progress;
    report = tune(
        request, setup, [&](const TuneProgress& p) { progress.show(p); }, interrupts.token());
  }
  if (!report.note.empty()) fmt::print(stderr, "autotune: {}\n", report.note);
  if (!report.storage_problem.empty()) {
    fmt::print(stderr, "autotune: warning: {}\n", report.storage_problem);
  }
  for (const ProblemResult& result : report.problems) {
    if (!result.too_large.empty()) fmt::print(stderr, "autotune: {}\n", result.too_large);
  }
  if (options.json) {
    print_json(report, device);
  } else if (options.csv) {
    fmt::print("{}", result_table(report).csv());
  } else {
    fmt::print("{}\n", describe(device));
    fmt::print("{}", result_table(report).text());
    print_summary(report, device, setup.compile_jobs);
    if (!opened.database.path().empty()) {
      fmt::print("stored in {}\n", opened.database.path().string());
    }
  }
  return exit_code_for(report, opened.problem.empty() && report.storage_problem.empty());
}

}  // namespace

void add_tune_command(CommandLine& line) {
  auto options = std::make_shared<TuneOptions>();
  options->command = line.text;
  CLI::App* command = line.app.add_subcommand("tune", "Find and keep the fastest configurations");
  command->add_option("--sizes", options->sizes, "Sizes: N or MxNxK, with commas, or @FILE")
      ->required();
  command->add_option("--device", options->device, "auto, host, or a GPU's number");
  command->add_option("--layout", options->layout, "NN, NT, TN or TT: op(A), op(B)");
  command->add_option("--math", options->math, "strict: FP32 throughout");
  command->add_option("--template", options->space.templates,
                      "Templates to search (default: all; on the host device those for any GPU)");
  command->add_option("--tile-width", options->space.tile_width, "Only these, e.g. 16,32");
  command->add_option("--results-per-thread", options->space.results_per_thread,
                      "Only these, e.g. 4 (any shape) or 2x8");
  command->add_option("--unroll", options->space.unroll, "Only these, e.g. 4,full");
  command->add_option("--only", options->space.only,
                      "Only configurations with these values, e.g. STAGES=2,STAGES=3,SPLIT_K=1");
  command->add_option("--shard", options->space.shard,
                      "Only this part of the space, e.g. 2/8: for several machines");
  command->add_option("--budget", options->budget, "Stop after this time, e.g. 30s, 5m");
  command->add_option("--trials", options->trials, "Stop after so many trials");
  command->add_option("--strategy", options->strategy, "exhaustive, local or random");
  command->add_option("--seed", options->seed,
                      "Of the strategies that draw, local and random (default 1)");
  command->add_option("--db", options->database, "The tuning database");
  command->add_option("--jobs", options->jobs, "Compile workers (default: cores - 2)");
  command->add_option("--compare", options->compare, "cublas: time it beside the finalists");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--csv", options->csv, "Print CSV");
  command->add_flag("--dry-run", options->dry_run, "Only show the space and what rejects the rest");
  command->add_flag("--fresh", options->fresh, "Measure again what is known");
  command->callback([&line, options] { line.action = [options] { return run_tune(*options); }; });
}

}  // namespace autotune
