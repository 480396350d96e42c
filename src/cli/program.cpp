#include "cli/program.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <set>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "autotune/error.hpp"
#include "autotune/version.hpp"

#include "cli/commands/command.hpp"
#include "cli/commands/worker_command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/help/command_help.hpp"
#include "cli/kernel_options.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "cli/output/usage_message.hpp"
#include "cli/output/version_text.hpp"
#include "core/error_text.hpp"
#include "select/portfolio.hpp"

namespace autotune {
namespace {

constexpr const char* kDescription =
    "Finds the fastest matrix-multiplication kernel for a GPU and a size, and keeps what it "
    "finds.\n"
    "Without a command it tunes.";

// Makes tune the command when the first argument is an option.
std::vector<std::string> with_command(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool is_option = !arguments.empty() && arguments.front().rfind('-', 0) == 0;
  const auto is_one_of = [&](std::initializer_list<const char*> names) {
    return std::ranges::find(names, arguments.front()) != names.end();
  };
  if (is_option && !is_one_of({"--help", "-h", "--version"})) {
    arguments.insert(arguments.begin(), "tune");
  }
  return arguments;
}

// --json is an option of commands, and --version goes without one.
bool asks_for_version_as_json(int argc, char** argv) {
  const std::set<std::string> arguments(argv + 1, argv + argc);
  return arguments == std::set<std::string>{"--json", "--version"};
}

std::string joined(int argc, char** argv) {
  std::string text = "autotune";
  for (int i = 1; i < argc; ++i) text += std::string(" ") + argv[i];
  return text;
}

int report(int code, const std::string& message) {
  say(printable(message));
  return code;
}

int report_output(int error) {
  return report(exit_code::kInternal,
                std::string("standard output could not be written") +
                    (error == 0 ? "" : std::string(": ") + std::strerror(error)));
}

// A flag has no value: CLI11 would take "--json=no" as a flag that is not given.
void refuse_flag_values(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) {
    if (option->get_items_expected_max() == 0) option->disable_flag_override();
  }
  for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    refuse_flag_values(*command);
  }
}

// Fills the standard descriptors that the caller has closed, so that no file that is opened later
// takes their place. Writing to such an output fails, and that is reported.
void hold_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    static_cast<void>(::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY));
  }
}

}  // namespace

CLI::App& add_command(CommandLine& line, const char* name, const char* help,
                      std::function<int()> run) {
  CLI::App& command = *line.app.add_subcommand(name, help);
  command.callback([&line, run = std::move(run)] { line.action = run; });
  return command;
}

int run_command(int argc, char** argv, const KernelSet& kernels) {
  CLI::App app(kDescription, "autotune");
  app.require_subcommand(0, 1);
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", version_text,
                       "Print the versions of autotune and of what it uses; --json: as JSON");
  std::vector<std::string> arguments = with_command(argc, argv);
  const std::optional<OwnKernels> own = named_kernel(arguments);
  const KernelSet& used = own ? own->kernels() : kernels;
  const ShippedPortfolios portfolios(used);
  CommandLine line{app, portfolios, joined(argc, argv), nullptr};
#define AUTOTUNE_ADD_COMMAND(name) add_##name##_command(line);
  AUTOTUNE_COMMANDS(AUTOTUNE_ADD_COMMAND)
#undef AUTOTUNE_ADD_COMMAND
  refuse_flag_values(app);
  // Commands would inherit it, had they been added later.
  app.footer(
      "autotune --sizes 1024,2048,3200\n"
      "autotune query --device \"NVIDIA H200\" --sizes 2048\n"
      "autotune report --output report.html");

  if (asks_for_version_as_json(argc, argv)) {
    std::fputs(version_json().c_str(), stdout);
    return exit_code::kDone;
  }
  std::ranges::reverse(arguments);  // as CLI11 wants them
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    std::fputs(help_text(describe(chosen_command(app), used), help_width()).c_str(), stdout);
    return exit_code::kDone;
  } catch (const CLI::CallForVersion& version) {
    std::fputs(version.what(), stdout);
    return exit_code::kDone;
  } catch (const CLI::ParseError& error) {
    return report(exit_code::kUsage, usage_message(app, error));
  }
  if (!line.action) {
    return report(
        exit_code::kUsage,
        "a command or --sizes is missing, e.g. autotune --sizes 1024,2048 (--help shows all)");
  }
  return line.action();
}

int run_program(int argc, char** argv) {
  hold_standard_descriptors();
  // Writing beyond the limit of a file's size then fails, as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    if (argc > 1 && std::strcmp(argv[1], "worker") == 0) return run_worker_command(argc, argv);
    const int code = run_command(argc, argv, built_in_kernels());
    const int error = flush_output();
    return error == 0 && std::ferror(stdout) == 0 ? code : report_output(error);
  } catch (const StorageError& error) {
    return report(exit_code::kUsage, error.what());
  } catch (const UsageError& error) {
    return report(exit_code::kUsage, error.what());
  } catch (const EnvironmentError& error) {
    return report(exit_code::kEnvironment, error.what());
  } catch (const std::bad_alloc& error) {
    return report(exit_code::kEnvironment, error_text(error));
  } catch (const std::exception& error) {
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    if (system != nullptr && std::ferror(stdout) != 0) return report_output(system->code().value());
    return report(is_lack_of_threads(error) ? exit_code::kEnvironment : exit_code::kInternal,
                  error_text(error));
  }
}

}  // namespace autotune
