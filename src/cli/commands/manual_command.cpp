// autotune manual and autotune completion: what the shell and man need to know of the program.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "cli/commands/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/help/command_help.hpp"
#include "cli/options/option_values.hpp"
#include "cli/options/options.hpp"
#include "cli/output/output_files.hpp"

namespace autotune {
namespace {

struct ManualOptions {
  std::string command;
  std::string folder;
};

// Writes what a folder like /usr/share has.
void write_all(const CommandHelp& program, const std::filesystem::path& folder) {
  OutputFiles files({.begins = {".TH AUTOTUNE", "# Completion of autotune", "#compdef autotune"},
                     .streams = false,
                     .makes_folders = true});
  const std::filesystem::path manual = folder / "man" / "man1";
  files.add(manual / (program.name + ".1"), manual_page(program));
  for (const CommandHelp& command : program.commands) {
    files.add(manual / (program.name + "-" + command.name + ".1"), manual_page(command));
  }
  const auto script = [&](const char* shell) { return completion_script(program, shell); };
  files.add(folder / "bash-completion" / "completions" / program.name, script("bash"));
  files.add(folder / "zsh" / "site-functions" / ("_" + program.name), script("zsh"));
  files.add(folder / "fish" / "vendor_completions.d" / (program.name + ".fish"), script("fish"));
  files.commit();
}

int print_manual(const CommandHelp& program, const ManualOptions& options) {
  if (!options.folder.empty()) {
    write_all(program, options.folder);
    return exit_code::kDone;
  }
  std::vector<std::string> names;
  for (const CommandHelp& command : program.commands) {
    names.push_back(command.name);
    if (command.name != options.command) continue;
    fmt::print("{}", manual_page(command));
    return exit_code::kDone;
  }
  if (!options.command.empty()) {
    throw UsageError(fmt::format("{} is not a command: use one of {}", in_quotes(options.command),
                                 fmt::join(names, ", ")));
  }
  fmt::print("{}", manual_page(program));
  return exit_code::kDone;
}

int print_completion(const CommandHelp& program, const std::string& shell) {
  const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  if (std::ranges::find(shells, shell) == shells.end()) {
    throw UsageError(fmt::format("no completion for {}: use one of {}", in_quotes(shell),
                                 fmt::join(shells, ", ")));
  }
  fmt::print("{}", completion_script(program, shell));
  return exit_code::kDone;
}

}  // namespace

void add_manual_command(CommandLine& line) {
  const auto options = std::make_shared<ManualOptions>();
  CLI::App& manual = add_command(line, "manual", "Print a manual page, for man", [&line, options] {
    return print_manual(describe(line.app, line.portfolios.kernels()), *options);
  });
  refuse_empty(manual.add_option("COMMAND", options->command, "The command (default: the program)"))
      ->type_name("");
  add_output_option(manual, "--output", "FOLDER",
                    "Write all pages and completions into a folder like /usr/share",
                    /*to_standard_output=*/false, options->folder);
  manual.footer("autotune manual tune | man -l -");
}

void add_completion_command(CommandLine& line) {
  const auto shell = std::make_shared<std::string>();
  CLI::App& completion = add_command(
      line, "completion", "Print a completion script for bash, zsh or fish", [&line, shell] {
        return print_completion(describe(line.app, line.portfolios.kernels()), *shell);
      });
  refuse_empty(completion.add_option("SHELL", *shell, "bash, zsh or fish"))
      ->required()
      ->type_name("");
  completion.footer(
      "autotune completion bash > ~/.local/share/bash-completion/completions/autotune");
}

}  // namespace autotune
