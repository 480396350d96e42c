// autotune tune: the default command.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/commands/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/interrupt.hpp"
#include "cli/kernel_options.hpp"
#include "cli/locked_device.hpp"
#include "cli/options/configuration_choice.hpp"
#include "cli/options/options.hpp"
#include "cli/options/space_options.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "cli/output/tune_report.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {
namespace {

struct TuneOptions : Options {
  using Options::Options;

  bool dry_run = false;
  bool fresh = false;
  bool no_overlap = false;
  std::string command;  // the whole command line
};

// Throws UsageError where the templates that were named compute nothing with this arithmetic, but
// one of them would with another.
void check_math(const Options& options) {
  const std::vector<Problem> problems = options.problems();
  const auto any_computes = [&](const KernelTemplate* kernel, const std::vector<Math>& maths) {
    return std::ranges::any_of(problems, [&](const Problem& problem) {
      return std::ranges::any_of(in_maths(problem, maths),
                                 [&](const Problem& each) { return computes(*kernel, each); });
    });
  };
  const auto& named = options.templates;
  if (std::ranges::any_of(
          named, [&](const KernelTemplate* each) { return any_computes(each, options.maths()); })) {
    return;
  }
  for (const KernelTemplate* const kernel : named) {
    if (any_computes(kernel, {Math::emulated, Math::tf32})) {
      check_problem(*kernel, problems.front());
    }
  }
}

TuneRequest make_request(const TuneOptions& options) {
  if (options.strategies.size() > 1) {
    throw UsageError("--strategy: tune takes one strategy, e.g. --strategy model");
  }
  if (options.no_overlap && options.jobs > 0) {
    throw UsageError("--no-overlap compiles one kernel at a time: leave --jobs out");
  }
  check_filter(options.filter, options.chosen_templates());
  check_math(options);
  if (options.dry_run && options.csv) {
    throw UsageError("--csv: --dry-run prints a table, or JSON with --json");
  }
  TuneRequest request;
  request.began = std::chrono::steady_clock::now();
  request.problems = options.problems();
  const std::vector<Math> maths = options.maths();
  for (const Problem& problem : request.problems) {
    if (maths.size() > 1) request.alternatives[problem] = in_maths(problem, maths);
  }
  request.templates = options.templates;
  request.filter = options.filter;
  request.budget = options.budget;
  request.until = options.until;
  request.max_error = options.max_error;
  if (!options.strategies.empty()) request.strategy = options.strategies.front();
  request.seed = static_cast<std::uint64_t>(options.seed);
  request.fresh = options.fresh;
  request.baseline = options.compared;
  request.use_shipped_winners = !options.no_shipped;
  request.command = options.command;
  return request;
}

void print_space(const std::vector<SpaceSummary>& spaces) {
  for (const SpaceSummary& summary : spaces) {
    if (summary.problems == 0 && !summary.nothing_to_try.empty()) {
      fmt::print("{}: {}\n", summary.kernel->name, summary.nothing_to_try);
      continue;
    }
    fmt::print("{}: {} of {} configurations are left, for {}{}\n", summary.kernel->name,
               summary.enumeration.configurations.size(), summary.enumeration.raw_count,
               counted(summary.problems, "size"),
               summary.searches > summary.problems
                   ? fmt::format(" in {} searches of one math each", summary.searches)
                   : "");
    Table table({"rejected by", "configurations"});
    for (const auto& [name, count] : summary.enumeration.rejected) {
      if (count > 0) table.add({name, std::to_string(count)});
    }
    fmt::print("{}", table.text(output_columns()));
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
                                  {"rejected", std::move(rejected)},
                                  {"sizes", summary.problems},
                                  {"trials", summary.trials()}});
  }
  return document;
}

int dry_run(const TuneRequest& request, const DeviceInfo& device, const TuneOptions& options) {
  const std::vector<SpaceSummary> spaces = summarize_space(request, device, options.kernels());
  std::size_t trials = 0;
  for (const SpaceSummary& summary : spaces) trials += summary.trials();
  if (options.json) {
    nlohmann::ordered_json document = space_json(spaces);
    document["trials"] = trials;
    print_document(document);
  } else {
    print_space(spaces);
    const std::optional<std::int64_t> most = request.budget.trials;
    const bool is_cut = most && static_cast<std::size_t>(*most) < trials;
    fmt::print("{} over {}{}\n", counted(trials, "trial"), counted(request.problems.size(), "size"),
               is_cut ? fmt::format(", of which --trials allows {}", *most) : "");
  }
  check_not_empty(spaces);
  return exit_code::kDone;
}

// Waits for other runs on the device, as long as the budget of time lasts, and warns of what else
// disturbs measurements.
std::function<Reservation(const std::stop_token&)> reservation(const DeviceInfo& device,
                                                               const TuneRequest& request) {
  std::optional<DeviceLock::Deadline> deadline;
  if (request.budget.seconds) {
    deadline = *request.began + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                    std::chrono::duration<double>(*request.budget.seconds));
  }
  return [device, deadline](const std::stop_token& stop) -> Reservation {
    auto lock = std::make_shared<std::optional<DeviceLock>>(lock_device(device, stop, deadline));
    if (const std::string warning = device_warning(device); !warning.empty()) {
      say(fmt::format("warning: {}: {}", short_name(device), warning));
    }
    return {lock, *lock ? (*lock)->waited() : DeviceLock::Deadline::duration::zero()};
  };
}

// Opens the database to write to. A budget of time bounds how long a lock of another process is
// waited for. The time that it takes to open is not taken from the budget.
OpenedDatabase open_database_of(TuneRequest& request, const std::string& path) {
  using std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLeastWait(5000);
  constexpr double kShare = 0.25;  // of the budget
  DatabaseWait wait;
  if (request.budget.seconds) {
    const double share_ms = 1e3 * kShare * *request.budget.seconds;
    const double longest_ms = std::min(static_cast<double>(wait.longest.count()), share_ms);
    wait.longest = std::max(kLeastWait, std::chrono::milliseconds(std::lround(longest_ms)));
  }
  constexpr double kSlow_s = 2;
  const steady_clock::time_point before = steady_clock::now();
  bool waited = false;
  wait.begins = [&] {
    waited = true;
    say("waiting for another process, which has the database locked");
  };
  OpenedDatabase opened = open_database(path, wait);
  const steady_clock::duration took = steady_clock::now() - before;
  *request.began += took;
  const double took_s = std::chrono::duration<double>(took).count();
  if (!waited && took_s > kSlow_s) {
    say(fmt::format("warning: opening the database took {:.1f} s: its disk is slow", took_s));
  }
  return opened;
}

TuneReport tune_with_progress(const TuneRequest& request, TunerSetup& setup,
                              const std::string& mode, const std::stop_token& stop) {
  ProgressLine line(mode);
  const auto show = [&](const TuneProgress& progress) {
    if (progress.failed != nullptr) {
      line.hide();
      say(fmt::format("{} has failed and leaves its work to the others: {}",
                      short_name(progress.failed->device), progress.failed->failure));
    }
    line.show(progress);
  };
  return tune(request, setup, show, stop);
}

int run_tune(const TuneOptions& options) {
  TuneRequest request = make_request(options);
  const InterruptWatch interrupts;
  const std::vector<DeviceInfo> devices = devices_for(options.device);
  const DeviceInfo& device = devices.front();
  if (!request.baseline.empty() && device.is_cpu()) {
    throw EnvironmentError(
        "--compare cublas: the CPU device has no cuBLAS: leave --compare out, or name a GPU");
  }
  if (options.dry_run) return dry_run(request, device, options);

  // A request for nothing leaves no new database.
  if (!database_exists(options.database))
    check_not_empty(summarize_space(request, device, options.kernels()));
  OpenedDatabase opened = open_database_of(request, options.database);
  if (!opened.problem.empty()) {
    say(fmt::format("warning: {}; results of this run will not be kept",
                    printable(opened.problem)));
  }
  CubinStore cubins = open_cubin_store();
  TunerSetup setup = make_setup(options.portfolios, devices, static_cast<int>(options.jobs));
  for (MeasuringDevice& each : setup.measuring) {
    each.reserve = reservation(each.info, request);
  }
  setup.database = &opened.database;
  setup.cubins = &cubins;
  setup.overlap = !options.no_overlap;
  const TuneReport report =
      tune_with_progress(request, setup, options.progress, interrupts.token());

  print_notes(report, options.kernels());
  if (options.json) {
    print_document(tune_document(report, device, options.kernels()));
  } else if (options.csv) {
    fmt::print("{}", results_csv(tune_document(report, device, options.kernels())));
  } else {
    if (devices.size() > 1) fmt::print("{} x ", devices.size());
    fmt::print("{}\n{}", describe(device),
               result_table(report, options.kernels(), options.wide).text(output_columns()));
    print_summary(report, request, setup);
    if (report.measured > 0 && !opened.database.path().empty() && report.storage_problem.empty()) {
      fmt::print("stored in {}\n", printable(opened.database.path().string()));
    }
  }
  return exit_code_for(report, opened.problem.empty() && report.storage_problem.empty());
}

}  // namespace

void add_tune_command(CommandLine& line) {
  auto [command, options] =
      add_command(line, "tune", "Find and keep the fastest configurations", run_tune);
  options.command = line.text;
  const std::string strategies = fmt::format(
      "{} (default: exhaustive for a small space, else model)", fmt::join(strategy_names(), ", "));
  add_options(
      command, options,
      {"--sizes",
       {"--device", "auto (default), cpu, the number of a GPU, or all: every GPU"},
       {"--template",
        "The templates to search, separated by commas (default: all that the device can run)"},
       {"--strategy", strategies}});
  add_options(command, options,
              {"--layout",     "--type",      "--out-type",   "--batch",
               "--math",       "--max-error", "--tile-width", "--results-per-thread",
               "--unroll",     "--only",      "--shard",      "--budget",
               "--trials",     "--until",     "--seed",       "--db",
               "--no-shipped", "--jobs",      "--compare",    "--progress",
               "--wide",       "--json",      "--csv"});
  require_sizes(command, options);
  command.footer(
      "autotune --sizes 1024,2048,3200\n"
      "autotune --sizes 4096x512x1024 --budget 5m --compare cublas\n"
      "autotune --sizes @sizes.txt --template gemm_simt --only STAGES=2 --dry-run");
  command.add_flag("--no-overlap", options.no_overlap,
                   "Compile and measure in turn, to see what doing both at once is worth");
  command.add_flag("--dry-run", options.dry_run, "Only show the space and what rejects the rest");
  command.add_flag("--fresh", options.fresh, "Measure again what is known");
}

}  // namespace autotune
