// autotune tune: the default command.
#include <charconv>
#include <chrono>
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
#include "cli/size_list.hpp"
#include "cli/space_options.hpp"
#include "cli/table.hpp"
#include "cli/tune_report.hpp"
#include "cli/tuning_setup.hpp"
#include "tuner/search/strategy.hpp"

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
  std::string until;
  std::string strategy;
  std::string seed = "1";
  std::string database;
  std::string jobs;
  std::string compare;
  bool json = false;
  bool csv = false;
  bool dry_run = false;
  bool fresh = false;
  bool no_overlap = false;
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
  request.began = std::chrono::steady_clock::now();
  request.problems = parse_sizes(options.sizes);
  for (GemmProblem& problem : request.problems) {
    problem.math = math_from_string(options.math);
    set_layout(problem, options.layout);
  }
  if (!options.space.templates.empty()) request.templates = options.space.chosen_templates();
  request.filter = options.space.filter();
  if (!options.budget.empty()) request.budget.seconds = parse_duration(options.budget);
  if (!options.trials.empty()) {
    request.budget.trials = parse_integer(options.trials, "--trials");
  }
  if (!options.until.empty()) request.until = parse_share(options.until, "--until");
  if (!options.strategy.empty()) {
    const std::vector<std::string> known = strategy_names();
    if (std::find(known.begin(), known.end(), options.strategy) == known.end()) {
      throw UsageError(fmt::format("--strategy: '{}' is unknown: use {}", options.strategy,
                                   fmt::join(known, ", ")));
    }
    request.strategy = options.strategy;
  }
  request.seed = static_cast<std::uint64_t>(parse_integer(options.seed, "--seed"));
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

// Waits for other runs on the device, and says what else stands in the way of clean measurements.
std::function<std::shared_ptr<void>(const std::stop_token&)> reservation(const DeviceInfo& device) {
  return [device](const std::stop_token& stop) -> std::shared_ptr<void> {
    auto lock = std::make_shared<std::optional<DeviceLock>>(lock_device(device, stop));
    if (const std::string warning = device_warning(device); !warning.empty()) {
      const std::string line =
          fmt::format("autotune: warning: {}: {}\n", short_name(device), warning);
      std::fputs(line.c_str(), stderr);  // whether anybody can read it or not
    }
    return lock;
  };
}

TuneReport tune_with_progress(const TuneRequest& request, TunerSetup& setup,
                              const std::stop_token& stop) {
  ProgressLine line;
  const auto show = [&](const TuneProgress& progress) {
    if (progress.failed != nullptr) {
      line.hide();
      fmt::print(stderr, "autotune: {} has failed and leaves its work to the others: {}\n",
                 short_name(progress.failed->device), progress.failed->failure);
    }
    line.show(progress);
  };
  return tune(request, setup, show, stop);
}

int run_tune(const TuneOptions& options) {
  const TuneRequest request = make_request(options);
  const int jobs =
      options.jobs.empty() ? 0 : static_cast<int>(parse_integer(options.jobs, "--jobs"));
  const InterruptWatch interrupts;
  const std::vector<DeviceInfo> devices = devices_for(options.device);
  const DeviceInfo& device = devices.front();
  if (options.dry_run) return dry_run(request, device, options.json);
  if (request.compare_cublas && device.is_cpu()) {
    throw EnvironmentError("--compare cublas: the host device has no cuBLAS");
  }

  OpenedDatabase opened = open_database(options.database);
  if (!opened.problem.empty()) {
    fmt::print(stderr, "autotune: warning: {}; results of this run will not be kept\n",
               opened.problem);
  }
  CubinStore cubins = open_cubin_store();
  TunerSetup setup = make_setup(devices, jobs);
  for (MeasuringDevice& each : setup.measuring) each.reserve = reservation(each.info);
  setup.database = &opened.database;
  setup.cubins = &cubins;
  setup.overlap = !options.no_overlap;
  const TuneReport report = tune_with_progress(request, setup, interrupts.token());

  print_notes(report);
  if (options.json) {
    print_json(report, device);
  } else if (options.csv) {
    fmt::print("{}", result_table(report).csv());
  } else {
    if (devices.size() > 1) fmt::print("{} x ", devices.size());
    fmt::print("{}\n{}", describe(device), result_table(report).text());
    print_summary(report, setup);
    if (!opened.database.path().empty() && report.storage_problem.empty()) {
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
  command->add_option("--device", options->device, "auto, host, a GPU's number, or all GPUs: all");
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
  command->add_option("--until", options->until,
                      "Stop at this estimated share of the best of the space, e.g. 98%");
  command->add_option("--strategy", options->strategy,
                      "model (default), evolutionary, local, random or exhaustive");
  command->add_option("--seed", options->seed,
                      "Of the strategies that draw, all but exhaustive (default 1)");
  command->add_option("--db", options->database, "The tuning database");
  command->add_option("--jobs", options->jobs,
                      "Compile workers (default: cores - 2, and 1 GiB of memory each)");
  command->add_flag("--no-overlap", options->no_overlap,
                    "Compile and measure in turn, to see what doing both at once is worth");
  command->add_option("--compare", options->compare, "cublas: time it beside the finalists");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--csv", options->csv, "Print CSV");
  command->add_flag("--dry-run", options->dry_run, "Only show the space and what rejects the rest");
  command->add_flag("--fresh", options->fresh, "Measure again what is known");
  command->callback([&line, options] { line.action = [options] { return run_tune(*options); }; });
}

}  // namespace autotune
