// autotune run: one configuration, once, on real data.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/candidate_runner.hpp"
#include "cli/command.hpp"
#include "cli/configuration_choice.hpp"
#include "cli/device_lock.hpp"
#include "cli/exit_codes.hpp"
#include "cli/results_json.hpp"
#include "cli/size_list.hpp"
#include "cli/table.hpp"
#include "cli/tuning_setup.hpp"

namespace autotune {
namespace {

struct RunOptions {
  std::string sizes;
  std::string layout = "NN";
  std::string device = "auto";
  ConfigurationChoice choice;
  std::string database;
  bool json = false;
};

std::vector<Trial> run_all(const RunOptions& options, const DeviceInfo& device) {
  const std::optional<TuningDatabase> database = open_database_read_only(options.database);
  CubinStore cubins = open_cubin_store();
  const TunerSetup setup = make_setup({device}, 1);
  CandidateRunner runner(setup, cubins);
  std::vector<Trial> trials;
  for (GemmProblem& problem : parse_sizes(options.sizes)) {
    set_layout(problem, options.layout);
    const ChosenConfiguration chosen =
        choose_configuration(options.choice, problem, database ? &*database : nullptr,
                             {.device_class = device.device_class(), .label = device.label});
    trials.push_back(runner.run(*chosen.kernel, chosen.configuration, problem, {}));
  }
  return trials;
}

int run_run(const RunOptions& options) {
  static_cast<void>(parse_sizes(options.sizes));
  check_choice(options.choice);
  const DeviceInfo device = device_for(options.device);
  const auto lock = lock_device(device);
  const std::vector<Trial> trials = run_all(options, device);

  auto document = results_document("run", &device, device.label);
  RateColumn rates;
  for (const Trial& trial : trials) {
    if (trial.ok()) rates.add(gflops(trial.problem, trial.measurement.median_us));
  }
  Table table({"size", "status", "time us", rates.title(), "max error ratio", "of bound",
               "template", "configuration"});
  for (const Trial& trial : trials) {
    document["results"].push_back(result_entry(trial));
    const double us = trial.measurement.median_us;
    const Verification& check = trial.verification;
    table.add({to_string(trial.problem), to_string(trial.status),
               trial.ok() ? fmt::format("{:.1f}", us) : "-",
               trial.ok() ? rates.text(gflops(trial.problem, us)) : "-",
               trial.ok() ? fmt::format("{:.2f}", check.max_error_ratio) : "-",
               trial.ok() ? fmt::format("{:.1f}", check.error_bound) : "-", trial.template_name,
               to_string(trial.configuration)});
    if (!trial.ok())
      fmt::print(stderr, "autotune: {}: {}\n", to_string(trial.problem), trial.detail);
  }
  document["measured"] = trials.size();
  if (options.json) {
    fmt::print("{}\n", document.dump(2));
  } else {
    fmt::print("{}\n{}", describe(device), table.text());
    for (const Trial& trial : trials) {
      if (trial.ok() && !trial.detail.empty()) {
        fmt::print("{}: verified and timed on {}\n", to_string(trial.problem), trial.detail);
      }
    }
  }
  return exit_code_for(trials);
}

}  // namespace

void add_run_command(CommandLine& line) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = line.app.add_subcommand("run", "Verify and time one configuration");
  command->add_option("--sizes", options->sizes, "Sizes: N or MxNxK, with commas, or @FILE")
      ->required();
  command->add_option("--layout", options->layout, "NN, NT, TN or TT: op(A), op(B)");
  command->add_option("--device", options->device, "auto, host, or a GPU's number");
  command->add_option("--template", options->choice.template_name, "The template of --config");
  command->add_option(
      "--config", options->choice.configuration,
      "NAME=VALUE,... (default: the best known); what is left out is as by default");
  command->add_option("--db", options->database, "The tuning database");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([&line, options] { line.action = [options] { return run_run(*options); }; });
}

}  // namespace autotune
