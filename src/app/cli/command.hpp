// The commands of the command line. A command is one file that defines its add function, and a line
// in program.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace CLI {
class App;
}

namespace autotune {

struct CommandLine {
  CLI::App& app;
  std::string text;             // the whole command line, for provenance
  std::function<int()> action;  // of the chosen command; returns the exit code
};

// Adds a command of this name; `run` becomes the action when it is chosen.
CLI::App& add_command(CommandLine& line, const char* name, const char* help,
                      std::function<int()> run);

// Adds a command with options, which live as long as the command line.
template <typename CommandOptions>
std::pair<CLI::App&, CommandOptions&> add_command(CommandLine& line, const char* name,
                                                  const char* help,
                                                  int (*run)(const CommandOptions&)) {
  const auto options = std::make_shared<CommandOptions>();
  return {add_command(line, name, help, [options, run] { return run(*options); }), *options};
}

void add_tune_command(CommandLine& line);
void add_query_command(CommandLine& line);
void add_show_command(CommandLine& line);
void add_run_command(CommandLine& line);
void add_sweep_command(CommandLine& line);
void add_analyze_command(CommandLine& line);
void add_devices_command(CommandLine& line);
void add_doctor_command(CommandLine& line);
void add_db_command(CommandLine& line);
void add_replay_command(CommandLine& line);

}  // namespace autotune
