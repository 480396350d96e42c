// autotune query: prints the best known configurations, from the database and the shipped winners.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/commands/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/gemm_output.hpp"
#include "cli/options/configuration_choice.hpp"
#include "cli/options/options.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "cli/output/top_trials.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "select/choice.hpp"
#include "select/lookup.hpp"

namespace autotune {
namespace {

struct QueryOptions : Options {
  using Options::Options;

  std::int64_t top = 0;  // 0: the best one, by winners
  bool exact = false;
  bool explain = false;
};

// What is known for one of the sizes, the best first.
struct Answer {
  Problem problem;  // as it was asked for
  std::vector<Choice> choices;
  bool is_too_large = false;  // for the device's memory

  [[nodiscard]] bool known() const { return !choices.empty(); }
  // The problem as the answer computes it.
  [[nodiscard]] Problem computed() const { return known() ? choices.front().problem : problem; }
  // What a library took for the problem beside the answer's kernel; nullptr where none was timed.
  [[nodiscard]] const BaselineTime* baseline() const {
    if (!known() || !choices.front().is_measured()) return nullptr;
    const auto& baseline = choices.front().stored()->winner.baseline;
    return baseline ? &*baseline : nullptr;
  }
};

std::vector<Answer> find_answers(const QueryOptions& options, const TuningDatabase* database,
                                 const DeviceQuery& device) {
  std::vector<Answer> answers;
  if (options.sizes.empty()) {
    for (Match& match : list_winners(database, device)) {
      const Problem problem = match.winner.problem;
      if (!options.selects(problem)) continue;
      Choice choice{options.kernels().find(match.winner.template_name),
                    match.winner.configuration,
                    problem,
                    {}};
      choice.evidence = std::move(match);
      answers.push_back({problem, {std::move(choice)}});
    }
    return answers;
  }
  for (const Problem& asked : options.problems()) {
    const Problem problem = in_maths(asked, options.maths()).back();
    answers.push_back({problem, known_choices(options.portfolios, problem, database, device,
                                              nullptr, options.exact)});
  }
  return answers;
}

// Returns why a device cannot hold the matrices of a problem; empty if it can, or if its memory is
// unknown.
std::string why_unfit(const KernelSet& kernels, const Problem& problem,
                      const std::string& device_class) {
  if (device_class.empty()) return "";
  const double available = parse_device_class(device_class).memory_gib;
  double needed = 0;
  for (const TensorDesc& tensor : kernels.operation_for(problem).tensors(problem)) {
    needed += tensor.volume() * 0x1p-30;
  }
  if (available == 0 || needed <= available) return "";
  return fmt::format("{} does not fit in the device's memory: its matrices need {:.4g} GiB of {}",
                     size_text(kernels, problem), needed, available);
}

// Leaves out answers that were not measured for problems that the device cannot hold, and says so.
void drop_unfit(const KernelSet& kernels, std::vector<Answer>& answers,
                const std::string& device_class) {
  for (Answer& answer : answers) {
    if (answer.known() && answer.choices.front().is_measured()) continue;
    const std::string why = why_unfit(kernels, answer.problem, device_class);
    if (why.empty()) continue;
    say(why);
    answer.choices.clear();
    answer.is_too_large = true;
  }
}

std::string match_text(const KernelSet& kernels, const Choice& choice) {
  const Prediction* const predicted = choice.predicted();
  if (predicted == nullptr) {
    const std::string kind = to_string(choice.match());
    if (choice.is_measured()) return kind;
    return kind + " " + size_text(kernels, choice.stored()->winner.problem);
  }
  const std::string error = fmt::format("predicted, +-{:.0f} %", 100 * predicted->error);
  if (!predicted->winner) return error;
  return error + ", won for " + size_text(kernels, predicted->winner->problem);
}

Table answer_table(const KernelSet& kernels, const std::vector<Answer>& answers,
                   std::optional<Math> asked, bool wide) {
  const std::string usual = asked ? to_string(*asked) : math_text(answers.front().computed());
  const bool with_math = std::ranges::any_of(
      answers, [&](const Answer& answer) { return math_text(answer.computed()) != usual; });
  const bool compared = std::ranges::any_of(
      answers, [](const Answer& answer) { return answer.known() && answer.baseline() != nullptr; });
  RateColumn rates;
  TimeColumn times;
  for (const Answer& answer : answers) {
    if (!answer.known() || answer.choices.front().time_us() == 0) continue;
    rates.add(rate_of(kernels, answer.problem, answer.choices.front().time_us()));
    times.add(answer.choices.front().time_us());
  }
  std::vector<std::string> header = {"size", "match", times.title(), rates.title()};
  if (compared) header.emplace_back("of cuBLAS");
  header.insert(header.end(), {"template", "configuration"});
  Table table(header);
  for (const Answer& answer : answers) {
    const std::string size = size_text(kernels, answer.computed(), with_math);
    if (!answer.known()) {
      table.add({size, answer.is_too_large ? "too large" : "none", "-", "-"});
      continue;
    }
    const Choice& best = answer.choices.front();
    // The sign tells predicted figures from measured ones.
    const char* const sign = best.predicted() != nullptr ? "~" : "";
    const double us = best.time_us();
    std::vector<std::string> row = {
        size, match_text(kernels, best), us > 0 ? sign + times.text(us) : "-",
        us > 0 ? sign + rates.text(rate_of(kernels, best.problem, us)) : "-"};
    if (compared) {
      const BaselineTime* const baseline = answer.baseline();
      row.push_back(baseline != nullptr ? fmt::format("{:.3f}", baseline->speedup) : "-");
    }
    row.push_back(best.kernel->name);
    row.push_back(configuration_text(best.kernel, best.configuration, best.problem, wide));
    table.add(std::move(row));
  }
  return table;
}

nlohmann::ordered_json predicted_entry(const KernelSet& kernels, const Choice& best) {
  const Prediction& predicted = *best.predicted();
  auto entry =
      borrowed_entry(best.problem, best.kernel->name, best.configuration, to_string(best.match()));
  entry["predicted_us"] = predicted.time_us;
  entry["predicted_error"] = predicted.error;
  if (predicted.winner) entry["tuned_for"] = size_text(kernels, predicted.winner->problem);
  entry["explanation"] = to_string(predicted);
  return entry;
}

nlohmann::ordered_json stored_entry(const KernelSet& kernels, const Choice& best) {
  const Match& match = *best.stored();
  const std::string kind = to_string(match.kind);
  auto entry = best.is_measured()
                   ? result_entry(kernels, match.winner, kind)
                   : borrowed_entry(best.problem, best.kernel->name, best.configuration, kind);
  entry["tuned_for"] = size_text(kernels, match.winner.problem);
  entry["shipped"] = match.shipped;
  entry["explanation"] = match.explanation;
  return entry;
}

nlohmann::ordered_json document_of(const KernelSet& kernels, const std::vector<Answer>& answers,
                                   const std::string& label) {
  nlohmann::ordered_json document = results_document("query", nullptr, label);
  for (const Answer& answer : answers) {
    if (!answer.known()) {
      document["results"].push_back(
          empty_entry(answer.problem, answer.is_too_large ? "too_large" : "nothing_stored"));
      continue;
    }
    const Choice& best = answer.choices.front();
    document["results"].push_back(best.predicted() != nullptr ? predicted_entry(kernels, best)
                                                              : stored_entry(kernels, best));
  }
  document["known"] = answers.size();
  return document;
}

void print_predictions(const KernelSet& kernels, const Answer& answer) {
  constexpr std::size_t kShown = 5;
  fmt::print("{}: the best predicted of {} candidates\n", size_text(kernels, answer.problem),
             answer.choices.size());
  for (std::size_t i = 0; i < std::min(kShown, answer.choices.size()); ++i) {
    const Choice& one = answer.choices[i];
    fmt::print("  {}\n    {} {}\n",
               one.predicted() != nullptr ? to_string(*one.predicted()) : one.explanation(),
               one.kernel->name, to_string(one.configuration));
    if (one.predicted() != nullptr && one.predicted()->winner) {
      fmt::print("    won for {}: {}\n", size_text(kernels, one.predicted()->winner->problem),
                 time_text(one.predicted()->winner->median_us));
    }
  }
}

void print_explanations(const KernelSet& kernels, const std::vector<Answer>& answers) {
  for (const Answer& answer : answers) {
    if (!answer.known()) continue;
    if (answer.choices.front().predicted() != nullptr) {
      print_predictions(kernels, answer);
      continue;
    }
    const Match& match = *answer.choices.front().stored();
    const Winner& winner = match.winner;
    fmt::print("{}: {}\n  {}, driver {}, compiler {}, {}\n", size_text(kernels, answer.problem),
               match.explanation, printable(winner.device_class),
               printable(winner.environment.driver), printable(winner.environment.nvrtc_build),
               printable(winner.measured_at));
    if (const BaselineTime* const baseline = answer.baseline()) {
      // The version is unknown of times that were kept without their algorithm and interval.
      const bool is_whole = !baseline->version.empty();
      fmt::print(
          "  {}{}: {}, {:.3f}{} times as long, {}\n", printable(baseline->library),
          is_whole
              ? fmt::format(" {}, algorithm {}", printable(baseline->version), baseline->algorithm)
              : "",
          time_text(baseline->median_us), baseline->speedup,
          is_whole
              ? fmt::format(" ({:.3f} to {:.3f})", baseline->speedup_low, baseline->speedup_high)
              : "",
          printable(baseline->measured_at));
    }
  }
}

// Says what is not known: the device, or only what was asked of it.
int nothing_stored(const QueryOptions& options, DeviceQuery device, const TuningDatabase* database,
                   bool anything) {
  device.max_error.reset();
  const std::string label = printable(device.label);
  if (!anything && list_winners(database, device).empty()) {
    const std::string known = known_devices(options.kernels(), database, device.use_shipped);
    say(fmt::format("nothing is stored for the device {}: tune it{}", label,
                    known == "none" ? ", as nothing is known of any device"
                                    : ", or ask for a known device (" + known + ")"));
    return exit_code::kNothingStored;
  }
  if (options.sizes.empty()) {
    say(fmt::format("nothing that these options choose is stored for {}: leave some out", label));
    return exit_code::kNothingStored;
  }
  const std::string sizes =
      fmt::format("{}these {}sizes", anything ? "some of " : "", options.exact ? "exact " : "");
  if (options.max_error) {
    say(
        fmt::format("nothing that meets --max-error is stored for {} of {}: tune them, or "
                    "leave --max-error out",
                    sizes, label));
  } else {
    say(fmt::format("nothing is stored for {}{} of {}: tune them{}", sizes,
                    options.exact ? "" : ", or near them,", label,
                    options.exact ? ", or leave --exact out" : ""));
  }
  return exit_code::kNothingStored;
}

// Trials are in the user's database alone.
int run_top(const QueryOptions& options, const TuningDatabase* database,
            const DeviceQuery& device) {
  if (options.exact || options.explain) {
    throw UsageError("--top lists measured trials: leave --exact and --explain out");
  }
  std::vector<StoredTrial> trials;
  if (database != nullptr) {
    trials = top_trials(options, *database,
                        {.device_class = device.device_class,
                         .device_label = device.label,
                         .max_error = options.max_error},
                        "", static_cast<std::size_t>(options.top));
  }
  if (trials.empty()) return nothing_stored(options, device, database, false);
  print_top_trials(options, trials, "query");
  return exit_code::kDone;
}

// The name of the device as it is spelled in the results.
std::string stored_label(const std::vector<Answer>& answers, std::string label) {
  for (const Answer& answer : answers) {
    const Match* const stored = answer.known() ? answer.choices.front().stored() : nullptr;
    if (stored != nullptr) label = stored->winner.device_label;
  }
  return label;
}

void print_answers(const QueryOptions& options, const std::vector<Answer>& answers,
                   const std::string& label) {
  if (options.json) return print_document(document_of(options.kernels(), answers, label));
  if (options.csv) {
    fmt::print("{}", results_csv(document_of(options.kernels(), answers, label)));
  } else if (std::ranges::any_of(answers, &Answer::known)) {
    const std::optional<Math> math =
        options.max_error ? std::optional(options.arithmetic()) : options.math;
    fmt::print("{}\n{}", printable(label),
               answer_table(options.kernels(), answers, math, options.wide).text(output_columns()));
    if (options.explain) print_explanations(options.kernels(), answers);
  }
}

int run_query(const QueryOptions& options) {
  const std::optional<TuningDatabase> opened = open_database_read_only(options.database);
  const TuningDatabase* database = opened ? &*opened : nullptr;
  DeviceQuery device = device_query(options, database);
  device.max_error = options.max_error;
  if (options.top > 0) return run_top(options, database, device);

  std::vector<Answer> answers = find_answers(options, database, device);
  drop_unfit(options.kernels(), answers, limits_of(database, device).device_class);
  const bool anything = std::ranges::any_of(answers, &Answer::known);
  const bool unfit = std::ranges::any_of(answers, &Answer::is_too_large);
  const bool everything = std::ranges::all_of(
      answers, [](const Answer& answer) { return answer.known() || answer.is_too_large; });
  device.label = stored_label(answers, std::move(device.label));
  print_answers(options, answers, device.label);
  if (everything && unfit) return exit_code::kEnvironment;
  if (anything && everything) return exit_code::kDone;
  return nothing_stored(options, device, database, anything);
}

}  // namespace

void add_query_command(CommandLine& line) {
  auto [command, options] =
      add_command(line, "query", "Print the best known configurations", run_query);
  add_options(
      command, options,
      {{"--device", kDeviceNameHelp},
       {"--sizes", "Sizes N or MxNxK, separated by commas, or @FILE (default: all known)"}});
  add_options(command, options,
              {"--layout", "--type", "--out-type", "--batch", "--math", "--max-error", "--db",
               "--no-shipped", "--wide", "--json", "--csv"});
  add_number_option(command, "--top", 1000,
                    "The N fastest trials of each size, from the database only", options.top);
  command.add_flag("--exact", options.exact, "Only what was tuned for exactly these sizes");
  command.add_flag("--explain", options.explain, "Say why each was chosen and where it is from");
  command.footer(
      "autotune query --device \"NVIDIA H200\" --sizes 2048\n"
      "autotune query --device H200 --json\n"
      "autotune query --sizes 1024 --top 10");
}

}  // namespace autotune
