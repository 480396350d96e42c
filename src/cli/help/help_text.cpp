#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "cli/help/command_help.hpp"
#include "cli/options/option_values.hpp"
#include "cli/output/terminal.hpp"

namespace autotune {
namespace {

constexpr std::size_t kLeastWidth = 40;
constexpr std::size_t kMostWidth = 100;

// Appends a text at a column of its own; `column` is where the line so far ends.
void append_wrapped(std::string& out, std::size_t column, std::size_t indent, std::string_view text,
                    std::size_t width) {
  for (const std::string& word : items_of(text, ' ')) {
    const bool begins = column <= indent;
    if (!begins && column + 1 + word.size() > width) {
      out += "\n";
      column = 0;
    } else if (!begins) {
      out += " ";
      ++column;
    }
    if (column < indent) {
      out += std::string(indent - column, ' ');
      column = indent;
    }
    out += word;
    column += word.size();
  }
  out += "\n";
}

// The parts of a command line between which it may be broken: not in quotes, nor between an option
// and its value.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words;
  bool in_quotes = false;
  for (const std::string& part : items_of(line, ' ')) {
    const bool is_value = !words.empty() && words.back().starts_with("--") &&
                          words.back().find(' ') == std::string::npos && !part.starts_with('-');
    if (in_quotes || is_value) {
      words.back() += " " + part;
    } else {
      words.push_back(part);
    }
    if (std::ranges::count(part, '"') % 2 == 1) in_quotes = !in_quotes;
  }
  return words;
}

// Appends a command to copy, in lines that the shell joins.
void append_example(std::string& out, const std::string& example, std::size_t width) {
  constexpr std::size_t kIndent = 6;  // of further lines
  std::size_t column = 1;
  out += " ";
  for (const std::string& word : shell_words(example)) {
    if (column > kIndent && column + 1 + word.size() + 2 > width) {
      out += " \\\n" + std::string(kIndent - 1, ' ');
      column = kIndent - 1;
    }
    out += " " + word;
    column += 1 + word.size();
  }
  out += "\n";
}

// Names at the left with their meanings at the right. A name that is too long has a line of its
// own.
class List {
 public:
  List(std::string title, std::size_t width) : text_("\n" + title + ":\n"), width_(width) {}

  void add(const std::string& name, std::string_view meaning) { rows_.emplace_back(name, meaning); }

  [[nodiscard]] std::string text() const {
    const std::size_t most = std::min<std::size_t>(26, width_ / 3);
    std::size_t longest = 0;
    for (const auto& [name, meaning] : rows_) {
      if (name.size() <= most) longest = std::max(longest, name.size());
    }
    const std::size_t indent = 2 + (longest > 0 ? longest : most) + 2;
    std::string text = text_;
    for (const auto& [name, meaning] : rows_) {
      text += "  " + name;
      const bool fits = 2 + name.size() + 2 <= indent;
      if (!fits) text += "\n";
      append_wrapped(text, fits ? std::min(indent, 2 + name.size()) : 0, indent, meaning, width_);
    }
    return text;
  }

 private:
  std::string text_;
  std::size_t width_;
  std::vector<std::pair<std::string, std::string_view>> rows_;
};

std::string list_text(const std::string& title, const Meanings& meanings, std::size_t width) {
  List list(title, width);
  for (const auto& [name, meaning] : meanings) list.add(std::string(name), meaning);
  return list.text();
}

}  // namespace

std::string help_text(const CommandHelp& command, std::size_t width) {
  const bool is_program = command.words == command.name;
  std::string text = "usage: " + command.usage() + "\n\n";
  for (const std::string& line : items_of(command.help, '\n')) {
    append_wrapped(text, 0, 0, line, width);
  }
  if (!command.commands.empty()) {
    List commands("Commands", width);
    for (const CommandHelp& each : command.commands) commands.add(each.name, each.help);
    text += commands.text();
  }
  for (const OptionGroup& group : command.groups) {
    List options(group.title, width);
    for (const OptionHelp& option : group.options) options.add(option.text(), option.help);
    text += options.text();
  }
  if (!command.examples.empty()) text += "\nExamples:\n";
  for (const std::string& example : command.examples) append_example(text, example, width);
  if (!is_program) {
    text += "\n";
    append_wrapped(text, 0, 0, "'autotune --help' has the exit codes and environment variables.",
                   width);
    return text;
  }
  return text + list_text("Exit codes", exit_code_meanings(), width) +
         list_text("Environment", environment_variables(), width);
}

std::size_t help_width() {
  std::size_t columns = 80;
  if (const auto terminal = output_columns()) {
    columns = *terminal;
  } else if (const char* const text = std::getenv("COLUMNS"); text != nullptr) {
    columns = static_cast<std::size_t>(parse_whole_number(text).value_or(80));
  }
  return std::clamp(columns, kLeastWidth, kMostWidth);
}

}  // namespace autotune
