// autotune show: prints the source, PTX, compiler's log or launch of one configuration.

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "api/device_choice.hpp"
#include "cli/command.hpp"
#include "cli/configuration_choice.hpp"
#include "cli/exit_codes.hpp"
#include "cli/options.hpp"
#include "cli/tuning_setup.hpp"
#include "gpu/nvrtc.hpp"

namespace autotune {
namespace {

struct ShowOptions : Options {
  bool source = false;
  bool ptx = false;
  bool log = false;
};

// Turns "-DNAME=VALUE" into the line of source that says the same.
std::string as_define(const std::string& option) {
  const std::size_t equals = option.find('=');
  return fmt::format("#define {} {}\n", option.substr(2, equals - 2), option.substr(equals + 1));
}

// Puts the macros before the template's text, so that it compiles alone.
std::string stand_alone_source(const KernelTemplate& kernel,
                               const std::vector<std::string>& options) {
  std::string text;
  for (const std::string& option : options) {
    if (option.rfind("-D", 0) == 0) text += as_define(option);
  }
  return text + "\n" + std::string(kernel.source);
}

void print_launch(const ChosenConfiguration& chosen, const GemmProblem& problem,
                  const std::vector<std::string>& options) {
  const LaunchGeometry geometry = chosen.kernel->geometry(chosen.configuration, problem);
  fmt::print("size            {}\n", to_string(problem));
  fmt::print("template        {}\n", chosen.kernel->name);
  fmt::print("configuration   {}\n", to_string(chosen.configuration));
  fmt::print("chosen because  {}\n", chosen.origin);
  fmt::print("grid            {}\n", fmt::join(geometry.grid, " x "));
  fmt::print("block           {}\n", fmt::join(geometry.block, " x "));
  fmt::print("shared memory   {} bytes static, {} dynamic\n",
             chosen.kernel->shared_bytes(chosen.configuration), geometry.dynamic_shared_bytes);
  fmt::print("compile options {}\n", fmt::join(options, " "));
}

// The device that is named, the one that is here, or an architecture alone.
struct Target {
  DeviceQuery query;
  std::string architecture;  // empty: that of the device's winners
};

Target choose_target(const ShowOptions& options) {
  Target target{device_named(options), options.architecture};
  const bool is_known = !options.configuration.empty() && !target.architecture.empty();
  if (!options.device.empty() || is_known) return target;
  target.query = device_query(options);
  const std::string here = parse_device_class(target.query.device_class).architecture;
  if (target.architecture.empty()) target.architecture = here;
  // Results of one architecture do not hold for another.
  if (target.architecture != here) {
    target.query = {target.architecture, "", std::nullopt, !options.no_shipped};
  }
  return target;
}

std::string architecture_of(const Target& target, const TuningDatabase* database) {
  if (!target.architecture.empty()) return target.architecture;
  const std::vector<Match> known = list_winners(database, target.query);
  if (!known.empty()) return parse_device_class(known.front().winner.device_class).architecture;
  throw UsageError(
      "--device: nothing is known of this device: name its architecture, e.g. "
      "--arch sm_90");
}

int run_show(const ShowOptions& options) {
  const GemmProblem problem = options.one_problem();
  check_choice(choice_of(options));
  if (options.source + options.ptx + options.log > 1) {
    throw UsageError("--source, --ptx and --log exclude each other");
  }
  const Target target = choose_target(options);
  const std::optional<TuningDatabase> opened = open_database_read_only(options.database);
  const TuningDatabase* database = opened ? &*opened : nullptr;
  const ChosenConfiguration chosen =
      choose_configuration(choice_of(options), problem, database, target.query);
  const std::string architecture = architecture_of(target, database);
  if (names_cpu_device(architecture) && (options.ptx || options.log)) {
    throw UsageError(
        "--ptx, --log: the CPU device has no PTX: name an architecture, e.g. "
        "--arch sm_90");
  }
  const std::vector<std::string> compile = compile_options(
      *chosen.kernel, chosen.configuration, code_traits(*chosen.kernel, problem), architecture);

  if (options.source) {
    fmt::print("{}", stand_alone_source(*chosen.kernel, compile));
  } else if (options.ptx || options.log) {
    const gpu::CompileResult result = gpu::Nvrtc::open()->compile(
        chosen.kernel->name, std::string(chosen.kernel->source), compile);
    fmt::print("{}\n", options.ptx && result.ok ? result.ptx : result.log);
    if (!result.ok) return exit_code::kNoneCorrect;
  } else {
    print_launch(chosen, problem, compile);
  }
  return exit_code::kDone;
}

}  // namespace

void add_show_command(CommandLine& line) {
  auto [command, options] =
      add_command(line, "show", "Show a configuration's source, PTX, launch", run_show);
  add_options(command, options, {{"--sizes", kOneSizeHelp}, {"--device", kDeviceNameHelp}});
  add_options(command, options,
              {"--layout", "--arch", "--template", "--config", "--db", "--no-shipped"});
  command.get_option("--sizes")->required();
  command.add_flag("--source", options.source, "Print the kernel's source");
  command.add_flag("--ptx", options.ptx, "Print its PTX");
  command.add_flag("--log", options.log, "Print the compiler's log");
}

}  // namespace autotune
