// What the program says about its commands: help texts, manual pages and shell completions are all
// made of it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel_templates/kernel_set.hpp"

namespace CLI {
class App;
}

namespace autotune {

struct OptionHelp {
  std::string name;   // "--sizes"; "FILE" of an argument without a name
  std::string value;  // "LIST", "NN|NT|TN|TT"; empty: a flag
  std::string help;
  bool required = false;
  std::vector<std::string> templates = {};  // that --template may name
  bool is_list = false;                     // an argument without a name that takes several values

  [[nodiscard]] bool is_named() const { return name.front() == '-'; }
  [[nodiscard]] std::string text() const { return value.empty() ? name : name + " " + value; }
  // The values to choose from; empty where there are no such.
  [[nodiscard]] std::vector<std::string> choices() const;
};

struct OptionGroup {
  std::string title;
  std::vector<OptionHelp> options;
};

struct CommandHelp {
  std::string name;   // "list"
  std::string words;  // "autotune db list"
  std::string help;
  std::vector<OptionGroup> groups;
  std::vector<CommandHelp> commands;
  std::vector<std::string> examples;

  // "autotune tune --sizes LIST [OPTION]...".
  [[nodiscard]] std::string usage() const;
};

[[nodiscard]] CommandHelp describe(const CLI::App& app, const KernelSet& kernels);
// The command that the last words of the command line chose.
[[nodiscard]] const CLI::App& chosen_command(const CLI::App& app);

// Names with their meaning.
using Meanings = std::vector<std::pair<std::string_view, std::string_view>>;
[[nodiscard]] const Meanings& exit_code_meanings();
[[nodiscard]] const Meanings& environment_variables();

// The text for --help, in lines of at most `width` columns.
[[nodiscard]] std::string help_text(const CommandHelp& command, std::size_t width);
// The columns of the terminal at standard output; without one $COLUMNS, else 80.
[[nodiscard]] std::size_t help_width();
// The manual page, for man.
[[nodiscard]] std::string manual_page(const CommandHelp& command);
// A completion script for bash, zsh or fish.
[[nodiscard]] std::string completion_script(const CommandHelp& program, const std::string& shell);

}  // namespace autotune
