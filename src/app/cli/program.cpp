#include "cli/program.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "autotune/error.hpp"
#include "autotune/version.hpp"

#include "cli/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/usage_message.hpp"
#include "cli/version_text.hpp"
#include "cli/worker_command.hpp"

namespace autotune {
namespace {

constexpr void (*kCommands[])(CommandLine&) = {
    add_tune_command,  add_query_command,   add_show_command,    add_run_command,
    add_sweep_command, add_analyze_command, add_devices_command, add_doctor_command,
    add_db_command,    add_replay_command,
};

constexpr const char* kDescription =
    "Finds the fastest matrix-multiplication kernel for a GPU and a size, and keeps what it "
    "finds.\n"
    "Without a command it tunes: autotune --sizes 1024,2048,3200";

// Makes tune the command when the first argument is an option.
std::vector<std::string> with_command(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool is_option = !arguments.empty() && arguments.front().rfind('-', 0) == 0;
  const auto is_one_of = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), arguments.front()) != names.end();
  };
  if (is_option && !is_one_of({"--help", "-h", "--version"})) {
    arguments.insert(arguments.begin(), "tune");
  }
  return arguments;
}

std::string joined(int argc, char** argv) {
  std::string text = "autotune";
  for (int i = 1; i < argc; ++i) text += std::string(" ") + argv[i];
  return text;
}

int report(int code, const std::string& message) {
  std::fprintf(stderr, "autotune: %s\n", message.c_str());
  return code;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app(kDescription, "autotune");
  app.require_subcommand(0, 1);
  app.set_help_flag("-h,--help", "Print this help and exit");
  CommandLine line{app, joined(argc, argv), nullptr};
  for (const auto add : kCommands) add(line);

  std::vector<std::string> arguments = with_command(argc, argv);
  if (arguments.size() == 1 && arguments.front() == "--version") {
    std::fputs(version_text().c_str(), stdout);
    return exit_code::kDone;
  }
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
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

int run_program(int argc, char** argv) {
  hold_standard_descriptors();
  // Writing beyond the limit of a file's size then fails, as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    if (argc > 1 && std::strcmp(argv[1], "worker") == 0) return run_worker_command(argc, argv);
    const int code = parse_and_run(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    return report(exit_code::kInternal, "standard output could not be written");
  } catch (const StorageError& error) {
    return report(exit_code::kUsage, error.what());
  } catch (const UsageError& error) {
    return report(exit_code::kUsage, error.what());
  } catch (const EnvironmentError& error) {
    return report(exit_code::kEnvironment, error.what());
  } catch (const std::exception& error) {
    return report(exit_code::kInternal, error.what());
  }
}

}  // namespace autotune
