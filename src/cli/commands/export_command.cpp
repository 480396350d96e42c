// autotune export: writes kernels for programs that do not link autotune.

#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/device_choice.hpp"
#include "cli/commands/bundle_export.hpp"
#include "cli/commands/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/kernel_options.hpp"
#include "cli/options/configuration_choice.hpp"
#include "cli/options/options.hpp"
#include "cli/options/target.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/output_files.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "export/source/gemm_text.hpp"
#include "export/source/own_source.hpp"
#include "export/source/source_export.hpp"

namespace autotune {
namespace {

struct ExportOptions : Options {
  using Options::Options;

  bool source = false;
  bool force = false;
  bool no_portfolio = false;
  std::string output;
  std::string bundle;
};

// Throws UsageError where no device of the architecture runs the kernel.
void check_runs_on(const std::string& architecture, const ChosenConfiguration& chosen) {
  check_architecture(*chosen.kernel, architecture);
  const std::optional<DeviceInfo> device = device_of_architecture(architecture);
  if (device) check_device(*chosen.kernel, chosen.configuration, *device);
}

// Nothing is exported that neither was tuned nor is asked for by name.
bool is_known(const ExportOptions& options, const Problem& problem, const TuningDatabase* database,
              const DeviceQuery& device) {
  if (!options.configuration.empty() || !options.templates.empty()) return true;
  if (!known_choices(options.portfolios, problem, database, device).empty()) return true;
  say(
      fmt::format("nothing is stored for {} on this device: tune it, name a device "
                  "(known: {}), or choose with --template or --config",
                  size_text(options.kernels(), problem),
                  known_devices(options.kernels(), database, !options.no_shipped)));
  return false;
}

[[noreturn]] void refuse_cpu_device() {
  throw UsageError(
      "--device: the CPU device has no CUDA source: name a GPU, e.g. --device \"NVIDIA H200\"");
}

SourceRequest request_for(const ExportOptions& options, const Problem& problem,
                          const TuningDatabase* database, const Target& target) {
  const ChosenConfiguration chosen =
      choose_configuration(choice_of(options), problem, database, target.query);
  check_problem(*chosen.kernel, chosen.problem);
  const std::string architecture = architecture_of(target, database);
  if (!architecture.starts_with("sm_")) refuse_cpu_device();  // it was named by its label
  check_runs_on(architecture, chosen);
  return {chosen.kernel,
          chosen.configuration,
          chosen.problem,
          architecture,
          printable(chosen.origin),
          have_named_sizes(options.kernels()) ? OperationText() : gemm_source_text(chosen.problem)};
}

int run_source_export(const ExportOptions& options) {
  const std::vector<Problem> problems = options.problems();
  check_choice(choice_of(options), problems);
  if (!options.architecture.empty()) check_known(options.architecture);
  const std::optional<TuningDatabase> opened = open_database_read_only(options.database);
  const TuningDatabase* database = opened ? &*opened : nullptr;
  const Target target = choose_target(options, database);
  if (names_cpu_device(options.device) || names_cpu_device(target.architecture)) {
    refuse_cpu_device();
  }
  const std::filesystem::path folder = options.output;
  std::error_code ignored;
  if (std::filesystem::exists(folder, ignored) && !std::filesystem::is_directory(folder, ignored)) {
    throw UsageError(fmt::format("--output: {} is not a folder", options.output));
  }
  OutputFiles files({.begins = {kSourceMark},
                     .read = options.sizes_file,
                     .force = options.force,
                     .streams = false,
                     .makes_folders = true});
  std::string summary;
  for (const Problem& problem : problems) {
    if (!is_known(options, problem, database, target.query)) return exit_code::kNothingStored;
    const SourceRequest request = request_for(options, problem, database, target);
    summary += fmt::format("{}: {} {} ({})\n", size_text(options.kernels(), problem),
                           request.kernel->name, to_string(request.configuration), request.origin);
    const bool is_own = have_named_sizes(options.kernels());
    for (const SourceFile& file :
         is_own ? std::vector{own_source(request)} : stand_alone_source(request)) {
      files.add(folder / file.name, file.text);
      summary += fmt::format("  {}\n", printable((folder / file.name).string()));
    }
    if (!is_own) summary += fmt::format("  {}\n", nvcc_test_command(request));
  }
  files.commit();
  fmt::print("{}", summary);
  return exit_code::kDone;
}

int run_export(const ExportOptions& options) {
  if (!options.source && options.bundle.empty()) {
    throw UsageError("--source or --bundle is missing: it says what is exported");
  }
  if (options.source && !options.bundle.empty()) {
    throw UsageError("--source and --bundle exclude each other");
  }
  if (options.source) {
    if (options.output.empty()) throw UsageError("--output is missing: the folder to write to");
    return run_source_export(options);
  }
  if (!options.output.empty()) {
    throw UsageError("--output is only for --source: --bundle names a file");
  }
  if (have_named_sizes(options.kernels()) && options.no_portfolio) {
    throw UsageError("--no-portfolio: leave it out, a bundle has your kernel for the given sizes");
  }
  return run_bundle_export(options, {options.bundle, options.force, !options.no_portfolio});
}

}  // namespace

void add_export_command(CommandLine& line) {
  auto [command, options] =
      add_command(line, "export", "Write kernels for applications", run_export);
  command.add_flag("--source", options.source,
                   "Write C++ for nvcc: a function for each size, and a test program");
  add_output_option(command, "--bundle", "FILE",
                    "Write compiled kernels, with which the library needs no compiler",
                    /*to_standard_output=*/false, options.bundle);
  add_options(command, options, {"--sizes", {"--device", kDeviceNameHelp}});
  add_options(command, options,
              {"--layout", "--type", "--out-type", "--batch", "--math", "--arch", "--template",
               "--config", "--jobs", "--db", "--no-shipped", "--progress"});
  require_sizes(command, options);
  add_output_option(command, "--output", "FOLDER", "The folder to write source to",
                    /*to_standard_output=*/false, options.output);
  command.add_flag("--no-portfolio", options.no_portfolio,
                   "Leave out the kernels for sizes that are not in --sizes");
  command.add_flag("--force", options.force, "Overwrite files that autotune has not written");
  command.footer(
      "autotune export --source --sizes 2048 --device \"NVIDIA H200\" --output source\n"
      "autotune export --bundle app.bundle --sizes 512,1024 --arch sm_90");
}

}  // namespace autotune
