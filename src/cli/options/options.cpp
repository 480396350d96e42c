#include "cli/options/options.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "cli/kernel_options.hpp"
#include "cli/options/option_values.hpp"
#include "cli/options/space_options.hpp"
#include "cli/output/usage_message.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {
namespace {

constexpr const char* kWholeNumber = "a whole number from 1 to 2147483647";

template <typename Target, typename Value>
bool assign(Target& target, Value value) {
  target = std::move(value);
  return true;
}
template <typename Target, typename Value>
bool assign(Target& target, std::optional<Value> value) {
  if (value) target = *std::move(value);
  return value.has_value();
}

// Parses a text and stores the value in a member, or a member of a member, of the options. Returns
// false when `Parse` returns nullopt.
template <auto Parse, auto... Members>
bool store(Options& options, const std::string& text) {
  return assign((options.*....*Members), Parse(text));
}

bool store_sizes(Options& options, const std::string& text) {
  if (text.starts_with('@')) options.sizes_file = text.substr(1);
  return assign(options.sizes, parse_sizes(text));
}

// Problems of a kernel of the user's own; the option may be given for each of them.
bool store_named_sizes(Options& options, const std::string& text) {
  Problem problem = parse_named_sizes(text, options.kernels());
  const bool is_new = std::ranges::find(options.sizes, problem) == options.sizes.end();
  if (is_new) options.sizes.push_back(std::move(problem));
  return true;
}

bool store_templates(Options& options, const std::string& text) {
  return assign(options.templates, parse_templates(text, options.kernels()));
}

std::optional<std::int64_t> number(const std::string& text) {
  return parse_whole_number(text);
}

std::string unchanged(const std::string& text) {
  return text;
}

bool is_given(const std::string& /*text*/) {
  return true;
}

// run_command() has read it.
bool accept(Options& /*options*/, const std::string& /*text*/) {
  return true;
}

// The output has one format.
template <bool Options::*Format>
bool store_format(Options& options, const std::string& /*text*/) {
  options.*Format = true;
  if (options.json && options.csv) {
    throw UsageError("--json and --csv exclude each other: leave one out");
  }
  return true;
}

constexpr std::string_view kInputs[] = {"linear", "uniform"};
constexpr std::string_view kLibraries[] = {"cublas"};
constexpr std::string_view kProgress[] = {"auto", "plain", "none"};

template <const auto& Words>
std::optional<std::string> one_of(const std::string& text) {
  const bool is_known = std::ranges::find(Words, text) != std::end(Words);
  return is_known ? std::optional(text) : std::nullopt;
}

// "sm_90a" is a device's own code, which templates that need it ask for themselves: "sm_90".
std::optional<std::string> architecture(const std::string& given) {
  const std::string text = given.substr(0, given.size() - (given.ends_with('a') ? 1 : 0));
  const bool is_one = text.rfind("sm_", 0) == 0 && parse_whole_number(text.substr(3), 999) >= 50;
  return is_one ? std::optional(text) : std::nullopt;
}

template <std::int64_t Most>
std::optional<std::int64_t> number_up_to(const std::string& text) {
  return parse_whole_number(text, Most);
}

std::vector<std::string> strategies(const std::string& text) {
  const std::vector<std::string> known = strategy_names();
  if (text == "all") return known;
  std::vector<std::string> names = items_of(text);
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    throw UsageError(fmt::format("{} must be one of {}", in_quotes(name), fmt::join(known, ", ")));
  }
  return names;
}

std::optional<std::vector<std::int64_t>> unrolls(const std::string& text) {
  std::vector<std::int64_t> values;
  for (const std::string& item : items_of(text)) {
    const auto value = item == "full" ? SpaceFilter::kFullUnroll : parse_whole_number(item);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::map<std::string, std::vector<std::int64_t>> values_by_name(const std::string& text) {
  std::map<std::string, std::vector<std::int64_t>> values;
  for (const std::string& item : items_of(text)) {
    const Configuration parsed = Configuration::parse(item);
    const auto& [name, value] = parsed.entries().front();
    values[name].push_back(value);
  }
  return values;
}

// Products, "4", and shapes, "2x8".
bool store_results(Options& options, const std::string& text) {
  options.filter.results_per_thread.clear();
  options.filter.result_shapes.clear();
  for (const std::string& item : items_of(text)) {
    const std::size_t x = item.find('x');
    const auto first = number(item.substr(0, x));
    const auto second = x == std::string::npos ? first : number(item.substr(x + 1));
    if (!first || !second) return false;
    if (x == std::string::npos) {
      options.filter.results_per_thread.push_back(*first);
    } else {
      options.filter.result_shapes.emplace_back(*first, *second);
    }
  }
  return true;
}

// "2/8": the second of eight.
bool store_shard(Options& options, const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto shard = number(text.substr(0, slash));
  const auto shards = number(slash == std::string::npos ? "" : text.substr(slash + 1));
  if (!shard || !shards || *shard > *shards) return false;
  options.filter.shard = *shard;
  options.filter.shards = *shards;
  return true;
}

struct Declaration {
  const char* name;
  const char* type;  // empty: a flag
  const char* help;
  const char* range;  // empty: `store` accepts any text, or throws
  const char* example;
  bool (*store)(Options&, const std::string&);
};

constexpr Declaration kDeclarations[] = {
    {"--sizes", "LIST",
     "Sizes N or MxNxK, separated by commas, or @FILE with one a line (@-: standard input)", "",
     "1024,2048x512x1024", store_sizes},
    {"--kernel", "FILE",
     "A kernel of your own: its .cu file, FILE or FILE:NAME, or its T1 description", "",
     "reduce.cu", accept},
    {"--size", "NAME=N,...", "The sizes of --kernel's problem; once for each problem", "",
     "n=16777216", store_named_sizes},
    {"--include-folder", "FOLDER", "A folder of files that --kernel's includes (repeatable)", "",
     "include", accept},
    {"--layout", "NN|NT|TN|TT", "A and B as stored (N) or transposed (T); default NN",
     "NN, NT, TN or TT", "TN", store<parse_layout, &Options::layout>},
    {"--type", "f32|bf16|f16", "Elements of A and B, and of C unless --out-type says otherwise",
     "f32, bf16 or f16", "bf16", store<parse_type, &Options::type>},
    {"--out-type", "f32|bf16|f16", "Elements of C (default: those of A and B); sums are of FP32",
     "f32, bf16 or f16", "f32", store<parse_type, &Options::out_type>},
    {"--batch", "N", "Products of each size that one launch computes (default 1)", kWholeNumber,
     "64", store<number, &Options::batch>},
    {"--math", "strict|emulated|tf32",
     "strict (default): FP32 throughout; emulated: any arithmetic as accurate as FP32; tf32: any "
     "as accurate as TF32",
     "strict, emulated or tf32", "emulated", store<parse_math, &Options::math>},
    {"--max-error", "ERROR",
     "Only configurations with at most this relative error (Frobenius norm, random data), of any "
     "arithmetic unless --math names one",
     "a number above 0 and below 1", "1e-6", store<parse_error_limit, &Options::max_error>},
    {"--device", "DEVICE", "auto (default), cpu or the number of a GPU", "", "0",
     store<unchanged, &Options::device>},
    {"--arch", "ARCH", "The architecture of a GPU, e.g. sm_90", "an architecture from sm_50 on",
     "sm_90", store<architecture, &Options::architecture>},
    {"--template", "NAME", "The template (default: the one that has the parameters of --config)",
     "", "gemm_tiled", store_templates},
    {"--config", "NAME=VALUE,...",
     "The configuration (default: the best known); what it leaves out is taken from the default",
     "", "TILE_WIDTH=16,UNROLL=8", store<Configuration::parse, &Options::configuration>},
    {"--tile-width", "LIST", "Only these tile widths, e.g. 16,32",
     "whole numbers separated by commas", "16,32",
     store<parse_whole_numbers, &Options::filter, &SpaceFilter::tile_widths>},
    {"--results-per-thread", "LIST",
     "Only these results of one thread, e.g. 4 (any shape) or 2x8 (along M, along N)",
     "products or shapes separated by commas", "4,2x8", store_results},
    {"--unroll", "LIST", "Only these unroll factors of the inner loop, e.g. 4,full",
     "whole numbers or full, separated by commas", "4,full",
     store<unrolls, &Options::filter, &SpaceFilter::unrolls>},
    {"--only", "NAME=VALUE,...", "Only these parameter values, e.g. STAGES=2,STAGES=3,SPLIT_K=1",
     "", "STAGES=2", store<values_by_name, &Options::filter, &SpaceFilter::only>},
    {"--shard", "I/N", "Only part I of the N parts of the space, for several machines, e.g. 2/8",
     "I/N with whole numbers and I at most N", "2/8", store_shard},
    {"--budget", "TIME", "Stop after this time, e.g. 30s, 5m or 1h",
     "a number with s, m or h, above 0 and up to 1e9 s", "30s",
     store<parse_seconds, &Options::budget, &Budget::seconds>},
    {"--trials", "N", "Stop after this many trials", kWholeNumber, "500",
     store<number, &Options::budget, &Budget::trials>},
    {"--until", "PERCENT",
     "Stop where searches of most recorded spaces had come to this share of the best rate, e.g. "
     "98%",
     "a percentage above 0 and up to 100", "98%", store<parse_share, &Options::until>},
    {"--strategy", "NAME", "The search strategy", "", "model",
     store<strategies, &Options::strategies>},
    {"--seed", "N", "Random seed (default 1; ignored by exhaustive)", kWholeNumber, "7",
     store<number, &Options::seed>},
    {"--jobs", "N", "Compile workers (default: cores - 2, with 1 GiB of memory for each)",
     "a whole number from 1 to 1024", "4", store<number_up_to<1024>, &Options::jobs>},
    {"--repeats", "N", "Runs, each with its own seed (default 100)",
     "a whole number from 1 to 10000", "100", store<number_up_to<10'000>, &Options::repeats>},
    {"--in-flight", "N", "Trials that are proposed before the first result is reported (default 1)",
     kWholeNumber, "8", store<number, &Options::in_flight>},
    {"--init", "linear|uniform", "Input data (default linear)", "linear or uniform", "uniform",
     store<one_of<kInputs>, &Options::input>},
    {"--launches", "N", "Launches that are timed as one interval (default 10)", kWholeNumber, "10",
     store<number, &Options::launches>},
    {"--compare", "cublas", "Time cuBLAS together with the finalists", "cublas", "cublas",
     store<one_of<kLibraries>, &Options::compared>},
    {"--db", "FILE", "The tuning database (default: $AUTOTUNE_DB, else the user's own)", "",
     "results.db", store<unchanged, &Options::database>},
    {"--progress", "auto|plain|none",
     "auto (default): a line on a terminal; plain: a line every 10 s; none", "auto, plain or none",
     "plain", store<one_of<kProgress>, &Options::progress>},
    {"--no-shipped", "", "Leave out the winners that ship with the program", "", "",
     store<is_given, &Options::no_shipped>},
    {"--wide", "", "Print configurations with all their parameters", "", "",
     store<is_given, &Options::wide>},
    {"--json", "", "Print JSON", "", "", store_format<&Options::json>},
    {"--csv", "", "Print CSV", "", "", store_format<&Options::csv>},
};

const Declaration* find_declaration(std::string_view name) {
  const auto known = std::ranges::find_if(
      kDeclarations, [&](const Declaration& each) { return each.name == name; });
  return known == std::end(kDeclarations) ? nullptr : known;
}

// They say which products of matrices are meant, and which of the templates for them.
constexpr std::string_view kOfProducts[] = {
    "--sizes",  "--layout", "--type",       "--out-type",
    "--batch",  "--math",   "--tile-width", "--results-per-thread",
    "--unroll", "--compare"};
constexpr std::string_view kRepeatable[] = {"--size", "--include-folder"};

void store_text(const Declaration& option, Options& options, const std::string& text) {
  if (have_named_sizes(options.kernels()) &&
      std::ranges::find(kOfProducts, option.name) != std::end(kOfProducts)) {
    throw UsageError(fmt::format("{} is for products of matrices: with --kernel {}", option.name,
                                 std::string_view(option.name) == "--sizes"
                                     ? "sizes have names, e.g. --size n=1024"
                                     : "leave it out; --only chooses among values of parameters"));
  }
  try {
    if (option.store(options, text)) return;
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", option.name, error.what()));
  }
  throw UsageError(fmt::format("{0}: {1} must be {2}, e.g. {0} {3}", option.name, in_quotes(text),
                               option.range, option.example));
}

}  // namespace

bool Options::lists(const Problem& problem) const {
  return kernels().operation_of(problem) != nullptr && selects(problem);
}

std::vector<const KernelTemplate*> Options::chosen_templates() const {
  std::vector<const KernelTemplate*> chosen = templates;
  if (!chosen.empty()) return chosen;
  for (const KernelTemplate& kernel : kernels().templates()) chosen.push_back(&kernel);
  return chosen;
}

const KernelTemplate* Options::one_template() const {
  if (templates.size() < 2) return templates.empty() ? nullptr : templates.front();
  throw UsageError(
      "--template: several templates are given, but this command takes one, e.g. "
      "--template gemm_tiled");
}

std::string example_of(const std::string& name) {
  const Declaration* option = find_declaration(name);
  const bool has_value = option != nullptr && *option->type != '\0';
  return !has_value ? "" : fmt::format(", e.g. {} {}", name, option->example);
}

CLI::Option* refuse_empty(CLI::Option* argument) {
  return argument->each([argument](const std::string& value) {
    if (!value.empty()) return;
    throw UsageError(fmt::format("{} is empty: it must have a value{}", argument->get_name(),
                                 argument->get_required() ? "" : ", or leave it out"));
  });
}

void add_text_option(CLI::App& command, const std::string& name, const char* type,
                     const std::string& help, std::function<void(const std::string&)> store,
                     bool is_repeatable) {
  const CLI::callback_t take_in = [&command, name, is_repeatable,
                                   store = std::move(store)](const CLI::results_t& given) {
    const std::string hint = hint_about(command, name);
    if (given.size() > 1 && !is_repeatable) {
      throw UsageError(name + " is given twice: give it once" + hint);
    }
    for (const std::string& value : given) {
      if (value.empty()) throw UsageError(name + ": the value is empty" + hint);
      store(value);
    }
    return true;
  };
  command.add_option(name, take_in, help)
      ->type_name(type)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_output_option(CLI::App& command, const std::string& name, const std::string& type,
                       const std::string& help, bool to_standard_output, std::string& path) {
  add_text_option(command, name, type.c_str(), help, [=, &path](const std::string& text) {
    if (text == "-" && !to_standard_output) {
      throw UsageError(fmt::format("{0}: '-' must be the name of a {1}, e.g. {0} ./-", name,
                                   type == "FOLDER" ? "folder" : "file"));
    }
    path = text == "-" ? "" : text;
  });
}

void add_choice_option(CLI::App& command, const std::string& name,
                       const std::vector<std::string>& words, const std::string& help,
                       std::string& word) {
  const std::string type = fmt::format("{}", fmt::join(words, "|"));
  add_text_option(command, name, type.c_str(), help, [name, words, &word](const std::string& text) {
    if (std::ranges::find(words, text) == words.end()) {
      throw UsageError(fmt::format("{0}: {1} must be one of {2}, e.g. {0} {3}", name,
                                   in_quotes(text), fmt::join(words, ", "), words.front()));
    }
    word = text;
  });
}

void add_number_option(CLI::App& command, const std::string& name, std::int64_t most,
                       const std::string& help, std::int64_t& number) {
  add_text_option(command, name, "N", help, [name, most, &number](const std::string& text) {
    if (assign(number, parse_whole_number(text, most))) return;
    throw UsageError(fmt::format("{0}: {1} must be a whole number from 1 to {2}, e.g. {0} 10", name,
                                 in_quotes(text), most));
  });
}

void add_options(CLI::App& command, Options& options, std::initializer_list<OptionName> names) {
  for (const OptionName& wanted : names) {
    const Declaration* const known = find_declaration(wanted.name);
    if (known == nullptr) throw Error(std::string(wanted.name) + " is unknown");
    const std::string help = wanted.help.empty() ? known->help : wanted.help;
    if (*known->type == '\0') {
      command.add_flag_callback(
          known->name, [&options, known] { known->store(options, ""); }, help);
    } else {
      add_text_option(
          command, known->name, known->type, help,
          [&options, known](const std::string& text) { store_text(*known, options, text); },
          std::ranges::find(kRepeatable, wanted.name) != std::end(kRepeatable));
    }
    // Whatever is asked of products can be asked of a kernel of one's own.
    if (wanted.name == "--sizes") {
      add_options(command, options, {"--kernel", "--size", "--include-folder"});
    }
  }
}

}  // namespace autotune
