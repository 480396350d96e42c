// autotune run: verifies and times one configuration on real data.

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/candidate_runner.hpp"
#include "cli/command.hpp"
#include "cli/configuration_choice.hpp"
#include "cli/device_lock.hpp"
#include "cli/exit_codes.hpp"
#include "cli/options.hpp"
#include "cli/results_json.hpp"
#include "cli/table.hpp"
#include "cli/tuning_setup.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

std::vector<Trial> run_all(const Options& options, const DeviceInfo& device) {
  const std::optional<TuningDatabase> database = open_database_read_only(options.database);
  CubinStore cubins = open_cubin_store();
  const TunerSetup setup = make_setup({device}, 1);
  CandidateRunner runner(setup, cubins);
  std::vector<Trial> trials;
  for (const GemmProblem& problem : options.problems()) {
    const ChosenConfiguration chosen = choose_configuration(
        choice_of(options), problem, database ? &*database : nullptr,
        {device.device_class(), device.label, std::nullopt, !options.no_shipped});
    trials.push_back(runner.run(*chosen.kernel, chosen.configuration, problem, {}));
  }
  return trials;
}

int run_run(const Options& options) {
  check_choice(choice_of(options));
  const DeviceInfo device = device_for(options.device);
  const auto lock = lock_device(device);
  const std::vector<Trial> trials = run_all(options, device);

  auto document = results_document("run", &device, device.label);
  RateColumn rates;
  for (const Trial& trial : trials) {
    if (trial.ok()) rates.add(gflops(gemm_problem(trial.problem), trial.measurement.median_us));
  }
  Table table({"size", "status", "time us", rates.title(), "max error ratio", "of bound",
               "template", "configuration"});
  for (const Trial& trial : trials) {
    document["results"].push_back(result_entry(trial));
    const double us = trial.measurement.median_us;
    const Verification& check = trial.verification;
    table.add({to_string(gemm_problem(trial.problem)), to_string(trial.status),
               trial.ok() ? fmt::format("{:.1f}", us) : "-",
               trial.ok() ? rates.text(gflops(gemm_problem(trial.problem), us)) : "-",
               trial.ok() ? fmt::format("{:.2f}", check.max_error_ratio) : "-",
               trial.ok() ? fmt::format("{:.1f}", check.error_bound) : "-", trial.template_name,
               to_string(trial.configuration)});
    if (!trial.ok())
      fmt::print(stderr, "autotune: {}: {}\n", to_string(gemm_problem(trial.problem)),
                 trial.detail);
  }
  document["measured"] = trials.size();
  if (options.json) {
    fmt::print("{}\n", document.dump(2));
  } else {
    fmt::print("{}\n{}", describe(device), table.text());
    for (const Trial& trial : trials) {
      if (trial.ok() && !trial.detail.empty()) {
        fmt::print("{}: verified and timed on {}\n", to_string(gemm_problem(trial.problem)),
                   trial.detail);
      }
    }
  }
  return exit_code_for(trials);
}

}  // namespace

void add_run_command(CommandLine& line) {
  auto [command, options] = add_command(line, "run", "Verify and time one configuration", run_run);
  add_options(command, options,
              {"--sizes", "--layout", "--device", "--template", "--config", "--db", "--no-shipped",
               "--json"});
  command.get_option("--sizes")->required();
}

}  // namespace autotune
