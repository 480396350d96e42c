#include "cli/usage_message.hpp"

#include <algorithm>
#include <numeric>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace autotune {
namespace {

// Levenshtein's distance.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] != b[j] ? 1 : 0)});
      diagonal = above;
    }
  }
  return row.back();
}

const CLI::App& chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : chosen_command(*chosen.front());
}

// The words that are possible here: the command's options and subcommands.
std::vector<std::string> known_words(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) {
    words.push_back(sub->get_name());
  }
  return words;
}

std::string unknown(const CLI::App& command, const std::string& word) {
  std::string message = fmt::format("'{}' is not an option or a command", word);
  const std::string name =
      command.get_parent() != nullptr ? command.get_name() + " --help" : "--help";
  std::string nearest;
  for (const std::string& candidate : known_words(command)) {
    const std::size_t allowed = std::max<std::size_t>(1, word.size() / 3);
    if (distance(word, candidate) <= allowed &&
        (nearest.empty() || distance(word, candidate) < distance(word, nearest))) {
      nearest = candidate;
    }
  }
  if (!nearest.empty()) message += fmt::format(": did you mean {}?", nearest);
  return message + fmt::format(" ('autotune {}' lists them)", name);
}

// Some messages of CLI11 have several lines.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// "autotune db export".
std::string words_of(const CLI::App& command) {
  if (command.get_parent() == nullptr) return "autotune";
  return words_of(*command.get_parent()) + " " + command.get_name();
}

}  // namespace

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = chosen_command(app);
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    const std::vector<std::string> extras = command.remaining(true);
    if (!extras.empty()) return unknown(command, extras.front());
  }
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) &&
      std::string(error.what()).find("--sizes") != std::string::npos) {
    return "--sizes is missing, e.g. --sizes 1024,2048x512x1024";
  }
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) &&
      command.get_require_subcommand_min() > 0 && command.get_subcommands().empty()) {
    return fmt::format("{0}: a subcommand is missing ('{0} --help' lists them)", words_of(command));
  }
  return one_line(error.what()) + " ('" + words_of(command) + " --help' explains)";
}

}  // namespace autotune
