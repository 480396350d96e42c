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
#include "cli/options/configuration_choice.hpp"
#include "cli/options/options.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "cli/output/top_trials.hpp"
#include "operation/gemm/gemm.hpp"
#include "select/best_known.hpp"
#include "select/lookup.hpp"
#include "select/predictor.hpp"

namespace autotune {
namespace {

struct QueryOptions : Options {
  std::int64_t top = 0;  // 0: the best one, by winners
  bool exact = false;
  bool explain = false;
};

// The fastest result for exactly this problem that meets the limit of the error, of any
// arithmetic unless one was asked for. The errors of other problems' results say nothing of it.
BestKnown accurate_answer(const QueryOptions& options, const TuningDatabase* database,
                          const DeviceQuery& device, GemmProblem problem) {
  std::vector<Problem> problems;
  for (const Math math : options.maths()) {
    problem.math = math;
    problems.emplace_back(problem);
  }
  auto match = find_fastest(database, device, problems);
  problem = gemm_problem(match ? match->winner.problem : problems.front());
  return {problem, std::move(match)};
}

std::vector<BestKnown> find_answers(const QueryOptions& options, const TuningDatabase* database,
                                    const DeviceQuery& device) {
  std::vector<BestKnown> answers;
  if (options.sizes.empty()) {
    for (Match& match : list_winners(database, device)) {
      const GemmProblem problem = gemm_problem(match.winner.problem);
      if (options.selects(problem)) answers.push_back({problem, std::move(match)});
    }
    return answers;
  }
  for (const GemmProblem& problem : options.problems()) {
    if (options.max_error) {
      answers.push_back(accurate_answer(options, database, device, problem));
    } else if (options.exact) {
      answers.push_back({problem, find_best(database, device, problem, true)});
    } else {
      answers.push_back(best_known(database, device, problem, nullptr));
    }
  }
  return answers;
}

std::string match_text(const Prediction& prediction) {
  const std::string error = fmt::format("predicted, +-{:.0f} %", 100 * prediction.error);
  if (!prediction.winner) return error;
  return error + ", won for " + to_string(gemm_problem(prediction.winner->problem));
}

Table answer_table(const std::vector<BestKnown>& answers, std::optional<Math> asked, bool wide) {
  const bool with_math = std::any_of(answers.begin(), answers.end(), [&](const BestKnown& answer) {
    return answer.problem.math != asked.value_or(answers.front().problem.math);
  });
  RateColumn rates;
  for (const auto& [problem, match, predictions] : answers) {
    if (match) rates.add(gflops(gemm_problem(match->winner.problem), match->winner.median_us));
    if (!predictions.empty()) rates.add(gflops(problem, predictions.front().time_us));
  }
  Table table({"size", "match", "time us", rates.title(), "template", "configuration"});
  for (const auto& [problem, match, predictions] : answers) {
    if (!predictions.empty()) {
      const Prediction& best = predictions.front();
      // The sign tells predicted figures from measured ones.
      table.add({size_text(problem, with_math), match_text(best),
                 fmt::format("~{:.1f}", best.time_us),
                 "~" + rates.text(gflops(problem, best.time_us)), best.kernel->name,
                 configuration_text(best.kernel->name, best.configuration, problem, wide)});
      continue;
    }
    if (!match) {
      table.add({size_text(problem, with_math), "none", "-", "-"});
      continue;
    }
    const Winner& winner = match->winner;
    const bool exact = winner.problem == problem;
    const std::string tuned_for = exact ? "" : " " + to_string(gemm_problem(winner.problem));
    table.add({size_text(problem, with_math), to_string(match->kind) + tuned_for,
               exact ? fmt::format("{:.1f}", winner.median_us) : "-",
               exact ? rates.text(gflops(problem, winner.median_us)) : "-", winner.template_name,
               configuration_text(winner.template_name, winner.configuration, problem, wide)});
  }
  return table;
}

nlohmann::ordered_json predicted_entry(const GemmProblem& problem,
                                       const std::vector<Prediction>& predictions) {
  const Prediction& best = predictions.front();
  auto entry =
      borrowed_entry(problem, best.kernel->name, best.configuration, to_string(match_kind(best)));
  entry["predicted_us"] = best.time_us;
  entry["predicted_error"] = best.error;
  if (best.winner) entry["tuned_for"] = to_string(gemm_problem(best.winner->problem));
  entry["explanation"] = to_string(best);
  return entry;
}

nlohmann::ordered_json document_of(const std::vector<BestKnown>& answers,
                                   const std::string& label) {
  nlohmann::ordered_json document = results_document("query", nullptr, label);
  for (const auto& [problem, match, predictions] : answers) {
    if (!predictions.empty()) {
      document["results"].push_back(predicted_entry(problem, predictions));
      continue;
    }
    if (!match) {
      document["results"].push_back(empty_entry(problem, "nothing_stored"));
      continue;
    }
    const std::string kind = to_string(match->kind);
    auto entry = match->winner.problem == problem
                     ? result_entry(match->winner, kind)
                     : borrowed_entry(problem, match->winner.template_name,
                                      match->winner.configuration, kind);
    entry["tuned_for"] = to_string(gemm_problem(match->winner.problem));
    entry["shipped"] = match->shipped;
    entry["explanation"] = match->explanation;
    document["results"].push_back(std::move(entry));
  }
  document["known"] = answers.size();
  return document;
}

void print_predictions(const GemmProblem& problem, const std::vector<Prediction>& predictions) {
  constexpr std::size_t kShown = 5;
  fmt::print("{}: the best predicted of {} candidates\n", to_string(problem), predictions.size());
  for (std::size_t i = 0; i < std::min(kShown, predictions.size()); ++i) {
    const Prediction& one = predictions[i];
    fmt::print("  {}\n    {} {}\n", to_string(one), one.kernel->name, to_string(one.configuration));
    if (one.winner) {
      fmt::print("    won for {}: {:.1f} us\n", to_string(gemm_problem(one.winner->problem)),
                 one.winner->median_us);
    }
  }
}

void print_explanations(const std::vector<BestKnown>& answers) {
  for (const auto& [problem, match, predictions] : answers) {
    if (!predictions.empty()) print_predictions(problem, predictions);
    if (!match || !predictions.empty()) continue;
    const Winner& winner = match->winner;
    fmt::print("{}: {}\n  {}, driver {}, compiler {}, {}\n", to_string(problem), match->explanation,
               printable(winner.device_class), printable(winner.environment.driver),
               printable(winner.environment.nvrtc_build), printable(winner.measured_at));
  }
}

// Says what is not known: the device, or only what was asked of it.
int nothing_stored(const QueryOptions& options, DeviceQuery device, const TuningDatabase* database,
                   bool anything) {
  device.max_error.reset();
  const std::string label = printable(device.label);
  if (!anything && list_winners(database, device).empty()) {
    fmt::print(stderr,
               "autotune: nothing is stored for the device {}: tune it, or ask for a known device "
               "({})\n",
               label, known_devices(database, device.use_shipped));
    return exit_code::kNothingStored;
  }
  if (options.sizes.empty()) {
    fmt::print(stderr,
               "autotune: nothing that these options choose is stored for {}: leave some out\n",
               label);
    return exit_code::kNothingStored;
  }
  const std::string sizes =
      fmt::format("{}these {}sizes", anything ? "some of " : "", options.exact ? "exact " : "");
  if (options.max_error) {
    fmt::print(stderr,
               "autotune: nothing that meets --max-error is stored for {} of {}: tune them, or "
               "leave it out\n",
               sizes, label);
  } else {
    fmt::print(stderr, "autotune: nothing is stored for {}{} of {}: tune them{}\n", sizes,
               options.exact ? "" : ", or near them,", label,
               options.exact ? ", or leave --exact out" : "");
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

int run_query(const QueryOptions& options) {
  const std::optional<TuningDatabase> opened = open_database_read_only(options.database);
  const TuningDatabase* database = opened ? &*opened : nullptr;
  DeviceQuery device = device_query(options, database);
  device.max_error = options.max_error;
  if (options.top > 0) return run_top(options, database, device);

  const std::vector<BestKnown> answers = find_answers(options, database, device);
  const bool anything = std::any_of(answers.begin(), answers.end(),
                                    [](const BestKnown& answer) { return answer.known(); });
  const bool everything = std::all_of(answers.begin(), answers.end(),
                                      [](const BestKnown& answer) { return answer.known(); });
  for (const BestKnown& answer : answers) {  // as it is spelled there
    if (answer.match) device.label = answer.match->winner.device_label;
  }
  if (options.json) {
    print_document(document_of(answers, device.label));
  } else if (options.csv) {
    fmt::print("{}", results_csv(document_of(answers, device.label)));
  } else if (anything) {
    const std::optional<Math> math =
        options.max_error ? std::optional(options.arithmetic()) : options.math;
    fmt::print("{}\n{}", printable(device.label),
               answer_table(answers, math, options.wide).text(output_columns()));
    if (options.explain) print_explanations(answers);
  }
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
              {"--layout", "--batch", "--math", "--max-error", "--db", "--no-shipped", "--wide",
               "--json", "--csv"});
  add_number_option(command, "--top", 1000,
                    "The N fastest trials of each size, from the database alone", options.top);
  command.add_flag("--exact", options.exact, "Only what was tuned for exactly these sizes");
  command.add_flag("--explain", options.explain, "Say why each was chosen and where it is from");
  command.footer(
      "autotune query --device \"NVIDIA H200\" --sizes 2048\n"
      "autotune query --device H200 --json\n"
      "autotune query --sizes 1024 --top 10");
}

}  // namespace autotune
