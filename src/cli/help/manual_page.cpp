#include <fmt/format.h>

#include "autotune/version.hpp"

#include "cli/help/command_help.hpp"
#include "cli/options/option_values.hpp"

namespace autotune {
namespace {

// A text as roff has it: no requests, no escapes, hyphens to copy.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool starts_line = out.empty() || out.back() == '\n';
    if (starts_line && (c == '.' || c == '\'')) out += "\\&";
    out += c == '\\' ? "\\\\" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string capitals(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// "autotune-db-list".
std::string page_name(const CommandHelp& command) {
  std::string name = command.words;
  for (char& c : name) c = c == ' ' ? '-' : c;
  return name;
}

std::string item(std::string_view name, std::string_view meaning) {
  return fmt::format(".TP\n.B {}\n{}\n", roff(name), roff(meaning));
}

std::string options_text(const CommandHelp& command) {
  std::string text;
  for (const OptionGroup& group : command.groups) {
    text += fmt::format(".SS {}\n", roff(group.title));
    for (const OptionHelp& option : group.options) text += item(option.text(), option.help);
  }
  return text;
}

std::string meanings_text(const char* title, const Meanings& meanings) {
  std::string text = fmt::format(".SH {}\n", title);
  for (const auto& [name, meaning] : meanings) text += item(name, meaning);
  return text;
}

}  // namespace

std::string manual_page(const CommandHelp& command) {
  const std::string first_line = items_of(command.help, '\n').front();
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"autotune {}\" \"autotune\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n"
      ".SH DESCRIPTION\n{}\n",
      capitals(roff(page_name(command))), kVersion, roff(page_name(command)), roff(first_line),
      roff(command.usage()), roff(command.help));
  if (!command.commands.empty()) text += ".SH COMMANDS\n";
  for (const CommandHelp& each : command.commands) text += item(each.name, each.help);
  text += ".SH OPTIONS\n" + options_text(command);
  // Commands of a command have no page of their own.
  for (const CommandHelp& each : command.commands) {
    if (command.words == command.name) break;
    text += fmt::format(".SH {}\n{}\n", capitals(roff(each.words)), roff(each.help)) +
            options_text(each);
  }
  if (!command.examples.empty()) text += ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : command.examples) text += roff(example) + "\n";
  if (!command.examples.empty()) text += ".fi\n";
  text += meanings_text("EXIT STATUS", exit_code_meanings());
  text += meanings_text("ENVIRONMENT", environment_variables());
  return text;
}

}  // namespace autotune
