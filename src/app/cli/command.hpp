// How commands get into the command line. A command is one file that defines its add function, and
// a line in program.cpp.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace autotune {

struct CommandLine {
  CLI::App& app;
  std::string text;             // all of it, for provenance
  std::function<int()> action;  // of the command that was chosen; returns the exit code
};

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
