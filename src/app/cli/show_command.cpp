// autotune show: everything about one configuration: source, PTX, log, launch.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "cli/command.hpp"
#include "cli/configuration_choice.hpp"
#include "cli/exit_codes.hpp"
#include "cli/size_list.hpp"
#include "cli/tuning_setup.hpp"
#include "gpu/nvrtc.hpp"

namespace autotune {
namespace {

struct ShowOptions {
  std::string sizes;
  std::string layout = "NN";
  std::string device;
  std::string architecture;
  ConfigurationChoice choice;
  std::string database;
  bool source = false;
  bool ptx = false;
  bool log = false;
};

// "-DNAME=VALUE" as the line of source that says the same.
std::string as_define(const std::string& option) {
  const std::size_t equals = option.find('=');
  return fmt::format("#define {} {}\n", option.substr(2, equals - 2), option.substr(equals + 1));
}

// The template's text behind its macros: a kernel that stands alone.
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

int run_show(const ShowOptions& options) {
  std::vector<GemmProblem> problems = parse_sizes(options.sizes);
  if (problems.size() != 1) throw UsageError("show: give one size, for example --sizes 2048");
  GemmProblem& problem = problems.front();
  set_layout(problem, options.layout);
  check_choice(options.choice);

  DeviceQuery query = device_named(options.device);
  std::string architecture = options.architecture;
  if (options.device.empty() && (options.choice.configuration.empty() || architecture.empty())) {
    const DeviceInfo device = device_for("auto");
    query = {device.device_class(), device.label, {}};
    if (architecture.empty()) architecture = device.architecture();
    // What suits another architecture is no answer for this one.
    if (architecture != device.architecture()) query = {architecture, "", {}};
  }
  const std::optional<TuningDatabase> database = open_database_read_only(options.database);
  const ChosenConfiguration chosen =
      choose_configuration(options.choice, problem, database ? &*database : nullptr, query);
  if (architecture.empty()) {
    const std::vector<Match> known = list_winners(database ? &*database : nullptr, query);
    if (known.empty()) {
      throw UsageError(
          "show: nothing is known of this device: name its architecture, for example "
          "--arch sm_90");
    }
    const std::string& silicon = known.front().winner.device_class;
    architecture = silicon.substr(0, silicon.find('/'));
  }
  if (architecture == "host" && (options.ptx || options.log)) {
    throw UsageError(
        "show: the host device has no PTX: name an architecture, for example "
        "--arch sm_90");
  }
  const std::vector<std::string> compile =
      compile_options(*chosen.kernel, chosen.configuration, unpadded_traits(problem), architecture);

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
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command = line.app.add_subcommand("show", "Show a configuration's source, PTX, launch");
  command->add_option("--sizes", options->sizes, "One size: N or MxNxK")->required();
  command->add_option("--layout", options->layout, "NN, NT, TN or TT: op(A), op(B)");
  command->add_option("--device", options->device, "A device's name (default: the GPU here)");
  command->add_option("--arch", options->architecture, "Compile for this, e.g. sm_90");
  command->add_option("--template", options->choice.template_name, "The template of --config");
  command->add_option("--config", options->choice.configuration,
                      "NAME=VALUE,... (default: the best known)");
  command->add_option("--db", options->database, "The tuning database");
  CLI::Option* source = command->add_flag("--source", options->source, "The kernel's source");
  CLI::Option* ptx = command->add_flag("--ptx", options->ptx, "Its PTX")->excludes(source);
  command->add_flag("--log", options->log, "The compiler's log")->excludes(source)->excludes(ptx);
  command->callback([&line, options] { line.action = [options] { return run_show(*options); }; });
}

}  // namespace autotune
