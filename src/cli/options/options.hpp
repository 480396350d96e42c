// The options that have a value, and the flags that commands share: each is declared once, with its
// name, type, check and help text.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autotune/configuration.hpp"

#include "cli/gemm_options.hpp"
#include "select/portfolio.hpp"
#include "tuner/run/request.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace autotune {

inline constexpr const char* kOneSizeHelp = "One size, N or MxNxK";
inline constexpr const char* kDeviceNameHelp =
    "The name of a device that results are stored or shipped for, or cpu (default: the GPU here, "
    "else cpu)";

// The values of a command's options.
struct Options : GemmOptions {
  explicit Options(const ShippedPortfolios& all) : portfolios(all) {}

  const ShippedPortfolios& portfolios;  // and the kernels that the program has
  std::string device;                   // as it was given
  std::string architecture;
  std::vector<const KernelTemplate*> templates;  // empty: none is named
  Configuration configuration;                   // empty: none is given
  SpaceFilter filter;
  Budget budget;
  std::optional<double> until;
  std::vector<std::string> strategies;  // empty: none is named
  std::int64_t seed = 1;
  std::int64_t jobs = 0;  // 0: as many as there are cores and memory for
  std::string database;   // empty: the default one
  std::int64_t repeats = 100;
  std::int64_t in_flight = 1;
  std::string input = "linear";
  std::int64_t launches = 10;
  std::string compared;  // empty: nothing
  std::string progress = "auto";
  bool no_shipped = false;
  bool wide = false;
  bool json = false;
  bool csv = false;

  [[nodiscard]] const KernelSet& kernels() const { return portfolios.kernels(); }
  // Returns whether the options choose a problem, and its operation is one of the program's.
  [[nodiscard]] bool lists(const Problem& problem) const;
  // The templates that are named, else all.
  [[nodiscard]] std::vector<const KernelTemplate*> chosen_templates() const;
  // The template of commands that look at one; nullptr where none is named. Throws UsageError for
  // several.
  [[nodiscard]] const KernelTemplate* one_template() const;
};

// The name of an option, e.g. "--sizes", and a help text of the command's own if it has one.
struct OptionName {
  OptionName(const char* option) : name(option) {}
  OptionName(const char* option, std::string own_help) : name(option), help(std::move(own_help)) {}

  std::string_view name;
  std::string help;
};

// Declares options of a command. `options` outlives it. The user gets one line, as UsageError, that
// names an option with a wrong value.
void add_options(CLI::App& command, Options& options, std::initializer_list<OptionName> names);

// Makes an empty value of an argument like FILE a UsageError.
CLI::Option* refuse_empty(CLI::Option* argument);

// Declares an option of one command alone. An empty value is a UsageError, and a second one unless
// the option is repeatable.
void add_text_option(CLI::App& command, const std::string& name, const char* type,
                     const std::string& help, std::function<void(const std::string&)> store,
                     bool is_repeatable = false);

// Declares an option of one command alone for what the command writes. `-` is standard output, as
// an empty path is; where that cannot be written to, it is a UsageError.
void add_output_option(CLI::App& command, const std::string& name, const std::string& type,
                       const std::string& help, bool to_standard_output, std::string& path);

// Declares an option of one command alone whose value is one of some words, stored in `word`.
void add_choice_option(CLI::App& command, const std::string& name,
                       const std::vector<std::string>& words, const std::string& help,
                       std::string& word);

// Declares an option of one command alone whose value is a whole number from 1 to `most`.
void add_number_option(CLI::App& command, const std::string& name, std::int64_t most,
                       const std::string& help, std::int64_t& number);

// ", e.g. --budget 30s" for a declared option that has a value, else empty.
[[nodiscard]] std::string example_of(const std::string& name);

}  // namespace autotune
