#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "cli/help/command_help.hpp"

namespace autotune {
namespace {

// The program's scripts find the command that the words so far chose, "autotune db list", and offer
// the values of the option before the cursor, or the command's options and commands. Options behind
// no command are those of tune.
constexpr const char* kBash = R"(# Completion of autotune in bash.
_autotune() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command=autotune offers='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${{COMP_WORDS[i]}}" in
      {0}) command+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  [[ $command == autotune && $COMP_CWORD -gt 1 ]] && command='autotune tune'
  case "$command $previous" in
{1}    *)
      case "$command" in
{2}      esac ;;
  esac
  COMPREPLY=($(compgen -W "$offers" -- "$current"))
}}
complete -F _autotune autotune
)";

constexpr const char* kZsh = R"(#compdef autotune
# Completion of autotune in zsh.
_autotune() {{
  local command=autotune word
  local -a offers
  for word in ${{words[2,CURRENT-1]}}; do
    case "$command $word" in
      {0}) command+=" $word" ;;
    esac
  done
  [[ $command == autotune && CURRENT -gt 2 ]] && command='autotune tune'
  case "$command ${{words[CURRENT-1]}}" in
{1}  esac
  case "$command" in
{2}  esac
  _describe -o autotune offers
}}
_autotune "$@"
)";

void visit_commands(const CommandHelp& command,
                    const std::function<void(const CommandHelp&)>& visit) {
  visit(command);
  for (const CommandHelp& each : command.commands) visit_commands(each, visit);
}

void visit_options(const CommandHelp& command,
                   const std::function<void(const OptionHelp&)>& visit) {
  for (const OptionGroup& group : command.groups) {
    for (const OptionHelp& option : group.options) visit(option);
  }
}

// The options that may follow a command; those of tune need none.
void visit_offered(const CommandHelp& program, const CommandHelp& command,
                   const std::function<void(const OptionHelp&)>& visit) {
  visit_options(command, visit);
  if (command.words != program.words) return;
  for (const CommandHelp& each : program.commands) {
    if (each.name != "tune") continue;
    visit_options(each, [&](const OptionHelp& option) {
      if (option.name != "--help") visit(option);
    });
  }
}

bool takes_file(const OptionHelp& option) {
  return option.value == "FILE" || option.value == "FOLDER";
}

// Every command but the program: '"autotune tune" | "autotune db"'.
std::string command_patterns(const CommandHelp& program) {
  std::vector<std::string> patterns;
  visit_commands(program, [&](const CommandHelp& command) {
    if (command.words != program.words) patterns.push_back('"' + command.words + '"');
  });
  return fmt::format("{}", fmt::join(patterns, " | "));
}

// A quote cannot stand within quotes of a shell.
std::string in_shell_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string bash_values(const CommandHelp& program) {
  std::string text;
  visit_commands(program, [&](const CommandHelp& command) {
    visit_options(command, [&](const OptionHelp& option) {
      if (option.value.empty() || !option.is_named()) return;
      const std::string action = takes_file(option)
                                     ? "compopt -o default; return"
                                     : fmt::format("offers='{}'", fmt::join(option.choices(), " "));
      text += fmt::format("    \"{} {}\") {} ;;\n", command.words, option.name, action);
    });
  });
  return text;
}

std::string bash_words(const CommandHelp& program) {
  std::string text;
  visit_commands(program, [&](const CommandHelp& command) {
    std::vector<std::string> words;
    for (const CommandHelp& each : command.commands) words.push_back(each.name);
    bool takes_files = false;
    visit_offered(program, command, [&](const OptionHelp& option) {
      takes_files = takes_files || !option.is_named();
      if (option.is_named()) words.push_back(option.name);
    });
    text += fmt::format("        \"{}\") {}offers='{}' ;;\n", command.words,
                        takes_files ? "compopt -o default; " : "", fmt::join(words, " "));
  });
  return text;
}

std::string zsh_values(const CommandHelp& program) {
  std::string text;
  visit_commands(program, [&](const CommandHelp& command) {
    visit_options(command, [&](const OptionHelp& option) {
      if (option.value.empty() || !option.is_named()) return;
      const std::string action =
          takes_file(option) ? "_files"
                             : fmt::format("compadd -- {}", fmt::join(option.choices(), " "));
      text += fmt::format("    \"{} {}\") {}; return ;;\n", command.words, option.name, action);
    });
  });
  return text;
}

// _describe() wants "word:meaning" with the colons of words behind backslashes; no word has one.
std::string zsh_words(const CommandHelp& program) {
  std::string text;
  visit_commands(program, [&](const CommandHelp& command) {
    std::vector<std::string> words;
    bool takes_files = false;
    for (const CommandHelp& each : command.commands) {
      words.push_back(in_shell_quotes(each.name + ":" + each.help));
    }
    visit_offered(program, command, [&](const OptionHelp& option) {
      takes_files = takes_files || !option.is_named();
      if (option.is_named()) words.push_back(in_shell_quotes(option.name + ":" + option.help));
    });
    text += fmt::format("    \"{}\") {}offers=({}) ;;\n", command.words,
                        takes_files ? "_files; " : "", fmt::join(words, " "));
  });
  return text;
}

// The condition that the words so far chose a command.
std::string fish_condition(const CommandHelp& program, const CommandHelp& command) {
  if (command.words == program.words) return "__fish_use_subcommand";
  std::string condition;
  for (std::size_t at = program.words.size(); at != std::string::npos;) {
    const std::size_t end = command.words.find(' ', at + 1);
    condition += (condition.empty() ? "" : "; and ") + std::string("__fish_seen_subcommand_from ") +
                 command.words.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    at = end;
  }
  return condition;
}

std::string fish_script(const CommandHelp& program) {
  std::string text = "# Completion of autotune in fish.\ncomplete -c autotune -f\n";
  visit_commands(program, [&](const CommandHelp& command) {
    const std::string start = fmt::format("complete -c autotune -n {}",
                                          in_shell_quotes(fish_condition(program, command)));
    for (const CommandHelp& each : command.commands) {
      text += fmt::format("{} -a {} -d {}\n", start, each.name, in_shell_quotes(each.help));
    }
    visit_offered(program, command, [&](const OptionHelp& option) {
      if (!option.is_named()) {
        text += start + " -F\n";
        return;
      }
      std::string values;
      if (takes_file(option)) {
        values = " -r -F";
      } else if (!option.value.empty()) {
        values = fmt::format(" -x -a '{}'", fmt::join(option.choices(), " "));
      }
      text += fmt::format("{} -l {}{} -d {}\n", start, option.name.substr(2), values,
                          in_shell_quotes(option.help));
    });
  });
  return text;
}

}  // namespace

std::string completion_script(const CommandHelp& program, const std::string& shell) {
  const std::string commands = command_patterns(program);
  if (shell == "bash") {
    return fmt::format(kBash, commands, bash_values(program), bash_words(program));
  }
  if (shell == "zsh") {
    return fmt::format(kZsh, commands, zsh_values(program), zsh_words(program));
  }
  if (shell == "fish") return fish_script(program);
  throw UsageError("no completion for " + shell);
}

}  // namespace autotune
