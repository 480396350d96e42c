#include "cli/output/usage_message.hpp"

#include <algorithm>
#include <numeric>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "autotune/error.hpp"

#include "cli/gemm_options.hpp"
#include "cli/help/command_help.hpp"
#include "cli/options/option_values.hpp"
#include "cli/options/options.hpp"

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

// "autotune db export".
std::string words_of(const CLI::App& command) {
  if (command.get_parent() == nullptr) return "autotune";
  return words_of(*command.get_parent()) + " " + command.get_name();
}

bool is_size(const std::string& word) {
  try {
    return !parse_sizes(word).empty();
  } catch (const UsageError&) {
    return false;
  }
}

// What somebody who typed this word meant; empty where that cannot be told.
std::string meant_by(const std::string& word, const CLI::App& command) {
  const bool is_kernel = word.ends_with(".cu") || word.find(".cu:") != std::string::npos;
  if (is_kernel) return fmt::format("a kernel of your own is named by --kernel {}", word);
  if (word.front() != '@' && is_size(word)) {
    return "sizes have commas between them, e.g. --sizes 64,128";
  }
  std::string nearest;
  for (const std::string& candidate : known_words(command)) {
    const std::size_t allowed = std::max<std::size_t>(1, word.size() / 4);
    if (candidate == "--" + word) return fmt::format("did you mean {}?", candidate);
    if (distance(word, candidate) <= allowed &&
        (nearest.empty() || distance(word, candidate) < distance(word, nearest))) {
      nearest = candidate;
    }
  }
  return nearest.empty() ? "" : fmt::format("did you mean {}?", nearest);
}

// Refuses a word that the command does not know, or not in this place.
std::string misplaced(const CLI::App& app, const CLI::App& command, const std::string& word) {
  const auto commands =
      app.get_subcommands([&](const CLI::App* each) { return each->get_name() == word; });
  if (!commands.empty()) {
    return fmt::format("{0} is a command, which comes first, and alone: autotune {0} ...", word);
  }
  if (word.rfind("--", 0) == 0 && app.get_option_no_throw(word) != nullptr) {
    return fmt::format("{0} goes without a command: autotune {0}", word);
  }
  const std::string meant = word.empty() ? "" : meant_by(word, command);
  return fmt::format("{} is not an option or a command{}{} ('{} --help' lists them)",
                     in_quotes(word), meant.empty() ? "" : ": ", meant, words_of(command));
}

}  // namespace

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = chosen_command(app);
  // CLI11 looks for what is missing first, but a mistyped --sizes is better called so.
  const std::vector<std::string> extras = app.remaining(true);
  if (!extras.empty()) return misplaced(app, command, extras.front());
  // The messages of CLI11 name the option, which is all that is taken from them.
  const std::string text = error.what();
  const std::size_t start = text.find("--");
  const std::string rest = text.substr(start == std::string::npos ? 0 : start);
  std::string name = rest.substr(0, rest.find_first_of(": "));
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr) {  // messages about flags leave the dashes out
    option = command.get_option_no_throw("--" + name);
    if (option != nullptr) name = "--" + name;
  }
  if (option == nullptr) {
    return fmt::format("a command is missing after {0} ('{0} --help' lists them)",
                       words_of(command));
  }
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const char* const what = is_missing                             ? "is missing"
                           : option->get_items_expected_max() > 0 ? "needs a value"
                                                                  : "takes no value";
  return fmt::format("{} {}{}", name, what, hint_about(command, name));
}

std::string hint_about(const CLI::App& command, const std::string& option) {
  const std::string example = example_of(option);
  return example.empty() ? " ('" + words_of(command) + " --help' explains)" : example;
}

}  // namespace autotune
