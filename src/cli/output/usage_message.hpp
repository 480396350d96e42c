// The messages for errors that CLI11 reports.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace autotune {

// One line that names the wrong word and the expected ones.
[[nodiscard]] std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

// Returns the end of a message about an option: ", e.g. --budget 30s", else where its help is.
[[nodiscard]] std::string hint_about(const CLI::App& command, const std::string& option);

}  // namespace autotune
