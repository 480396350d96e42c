// The commands of the command line. A command is one file that defines its add function, and its
// name in the list below.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace CLI {
class App;
}

namespace autotune {

class ShippedPortfolios;

struct CommandLine {
  CLI::App& app;
  const ShippedPortfolios& portfolios;  // and the kernels that the program has
  std::string text;                     // the whole command line, for provenance
  std::function<int()> action;          // of the chosen command; returns the exit code
};

// Adds a command of this name; `run` becomes the action when it is chosen.
CLI::App& add_command(CommandLine& line, const char* name, const char* help,
                      std::function<int()> run);

// Adds a command with options, which live as long as the command line.
template <typename CommandOptions>
std::pair<CLI::App&, CommandOptions&> add_command(CommandLine& line, const char* name,
                                                  const char* help,
                                                  int (*run)(const CommandOptions&)) {
  const auto options = std::make_shared<CommandOptions>(line.portfolios);
  return {add_command(line, name, help, [options, run] { return run(*options); }), *options};
}

// The commands, in the order of help. Each defines add_<name>_command().
#define AUTOTUNE_COMMANDS(COMMAND) \
  COMMAND(tune)                    \
  COMMAND(query)                   \
  COMMAND(show)                    \
  COMMAND(run)                     \
  COMMAND(bench)                   \
  COMMAND(sweep)                   \
  COMMAND(analyze)                 \
  COMMAND(templates)               \
  COMMAND(devices)                 \
  COMMAND(doctor)                  \
  COMMAND(report)                  \
  COMMAND(db)                      \
  COMMAND(replay)                  \
  COMMAND(export)                  \
  COMMAND(manual)                  \
  COMMAND(completion)

#define AUTOTUNE_DECLARE_COMMAND(name) void add_##name##_command(CommandLine& line);
AUTOTUNE_COMMANDS(AUTOTUNE_DECLARE_COMMAND)
#undef AUTOTUNE_DECLARE_COMMAND

}  // namespace autotune
