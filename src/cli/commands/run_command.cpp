// autotune run: verifies and times one configuration on real data.

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "autotune/error.hpp"

#include "cli/commands/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/kernel_options.hpp"
#include "cli/locked_device.hpp"
#include "cli/options/configuration_choice.hpp"
#include "cli/options/options.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "cli/output/trial_report.hpp"
#include "tuner/run/candidate_runner.hpp"

namespace autotune {
namespace {

// The configuration of each size. Throws UsageError where one does not compute its size or does not
// run on the device.
std::vector<ChosenConfiguration> configurations_for(const Options& options,
                                                    const DeviceInfo& device) {
  const std::optional<TuningDatabase> database = open_database_read_only(options.database);
  std::vector<ChosenConfiguration> all;
  for (const Problem& problem : options.problems()) {
    const ChosenConfiguration& chosen = all.emplace_back(
        choose_configuration(choice_of(options), problem, database ? &*database : nullptr,
                             {options.kernels(), device.device_class(), device.label, std::nullopt,
                              !options.no_shipped}));
    check_problem(*chosen.kernel, chosen.problem);
    check_device(*chosen.kernel, chosen.configuration, device);
  }
  return all;
}

std::vector<Trial> run_all(const Options& options, const DeviceInfo& device,
                           InterruptWatch& interrupts) {
  const std::vector<Problem> problems = options.problems();
  const std::vector<ChosenConfiguration> chosen = configurations_for(options, device);
  CubinStore cubins = open_cubin_store();
  const TunerSetup setup = make_setup(options.portfolios, {device}, 1);
  CandidateRunner runner(setup, cubins);
  ProgressLine progress(options.progress);
  std::vector<Trial> trials;
  while (trials.size() < problems.size() && !interrupts.token().stop_requested()) {
    const std::size_t i = trials.size();
    interrupts.begin_step(size_text(options.kernels(), problems[i]));
    progress.show({.done = static_cast<std::int64_t>(i),
                   .total = static_cast<std::int64_t>(problems.size()),
                   .phase = "run"});
    trials.push_back(runner.run(*chosen[i].kernel, chosen[i].configuration, chosen[i].problem, {}));
  }
  return trials;
}

Table trial_table(const std::vector<Trial>& trials, const Options& options) {
  RateColumn rates;
  TimeColumn times;
  for (const Trial& trial : trials) {
    if (!trial.ok()) continue;
    rates.add(rate_of(options.kernels(), trial.problem, trial.measurement.median_us));
    times.add(trial.measurement.median_us);
  }
  Table table({"size", "status", times.title(), rates.title(), "max error ratio", "of bound",
               "template", "configuration"});
  for (const Trial& trial : trials) {
    const double us = trial.measurement.median_us;
    const Verification& check = trial.verification;
    table.add({size_text(options.kernels(), trial.problem), to_string(trial.status),
               trial.ok() ? times.text(us) : "-",
               trial.ok() ? rates.text(rate_of(options.kernels(), trial.problem, us)) : "-",
               trial.ok() ? fmt::format("{:.2f}", check.max_error_ratio) : "-",
               trial.ok() ? fmt::format("{:.1f}", check.error_bound) : "-", trial.template_name,
               configuration_text(options.kernels().find(trial.template_name), trial.configuration,
                                  trial.problem, options.wide)});
  }
  return table;
}

int run_run(const Options& options) {
  check_choice(choice_of(options), options.problems());
  InterruptWatch interrupts;
  const DeviceInfo device = device_for(options.device);
  check_memory(options.kernels(), options.problems(), device);
  const auto lock = lock_device(device, interrupts.token());
  const std::vector<Trial> trials = run_all(options, device, interrupts);
  const std::size_t wanted = options.sizes.size();
  print_trial_notes(options.kernels(), trials, wanted);
  if (options.json || options.csv) {
    print_trials("run", device, trials, wanted, options);
    return exit_code_for(trials, wanted);
  }
  fmt::print("{}\n{}", describe(device), trial_table(trials, options).text(output_columns()));
  for (const Trial& trial : trials) {
    if (trial.ok() && !trial.detail.empty()) {
      fmt::print("{}: verified and timed on {}\n", size_text(options.kernels(), trial.problem),
                 trial.detail);
    }
  }
  return exit_code_for(trials, wanted);
}

}  // namespace

void add_run_command(CommandLine& line) {
  auto [command, options] = add_command(line, "run", "Verify and time one configuration", run_run);
  add_options(
      command, options,
      {"--sizes", "--layout", "--type", "--out-type", "--batch", "--math", "--device", "--template",
       "--config", "--db", "--no-shipped", "--progress", "--wide", "--json", "--csv"});
  require_sizes(command, options);
  command.footer(
      "autotune run --sizes 2048\n"
      "autotune run --sizes 2048 --config TILE_WIDTH=16,RESULTS_M=4,RESULTS_N=4");
}

}  // namespace autotune
