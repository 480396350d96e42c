// autotune query: prints the best known configurations, from the database and the shipped winners.

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "api/lookup.hpp"
#include "cli/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/options.hpp"
#include "cli/results_json.hpp"
#include "cli/table.hpp"
#include "cli/tuning_setup.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

struct QueryOptions : Options {
  bool exact = false;
  bool explain = false;
};

struct Answer {
  GemmProblem problem;
  std::optional<Match> match;
};

std::vector<Answer> find_answers(const QueryOptions& options, const TuningDatabase* database,
                                 const DeviceQuery& device) {
  std::vector<Answer> answers;
  if (options.sizes.empty()) {
    for (Match& match : list_winners(database, device)) {
      const GemmProblem problem = gemm_problem(match.winner.problem);
      answers.push_back({problem, std::move(match)});
    }
    return answers;
  }
  for (const GemmProblem& problem : options.problems()) {
    answers.push_back({problem, find_best(database, device, problem, options.exact)});
  }
  return answers;
}

Table answer_table(const std::vector<Answer>& answers) {
  RateColumn rates;
  for (const auto& [problem, match] : answers) {
    if (match) rates.add(gflops(gemm_problem(match->winner.problem), match->winner.median_us));
  }
  Table table({"size", "match", "time us", rates.title(), "template", "configuration"});
  for (const auto& [problem, match] : answers) {
    if (!match) {
      table.add({to_string(problem), "none", "-", "-"});
      continue;
    }
    const Winner& winner = match->winner;
    const bool exact = winner.problem == problem;
    table.add({to_string(problem), to_string(match->kind),
               exact ? fmt::format("{:.1f}", winner.median_us) : "-",
               exact ? rates.text(gflops(problem, winner.median_us)) : "-", winner.template_name,
               to_string(winner.configuration)});
  }
  return table;
}

void print_json(const std::vector<Answer>& answers, const std::string& label) {
  nlohmann::ordered_json document = results_document("query", nullptr, label);
  for (const auto& [problem, match] : answers) {
    if (!match) {
      document["results"].push_back(empty_entry(problem, "nothing_stored"));
      continue;
    }
    auto entry = result_entry(match->winner, to_string(match->kind));
    entry["m"] = problem.m;
    entry["n"] = problem.n;
    entry["k"] = problem.k;
    entry["tuned_for"] = to_string(gemm_problem(match->winner.problem));
    entry["shipped"] = match->shipped;
    entry["explanation"] = match->explanation;
    document["results"].push_back(std::move(entry));
  }
  document["known"] = answers.size();
  fmt::print("{}\n", document.dump(2));
}

void print_explanations(const std::vector<Answer>& answers) {
  for (const auto& [problem, match] : answers) {
    if (!match) continue;
    const Winner& winner = match->winner;
    fmt::print("{}: {}\n  {}, driver {}, NVRTC {}, {}\n", to_string(problem), match->explanation,
               winner.device_class, winner.environment.driver, winner.environment.nvrtc_build,
               winner.measured_at);
  }
}

int run_query(const QueryOptions& options) {
  const DeviceQuery device = device_query(options);
  const std::optional<TuningDatabase> opened = open_database_read_only(options.database);
  const TuningDatabase* database = opened ? &*opened : nullptr;

  const std::vector<Answer> answers = find_answers(options, database, device);
  const bool anything = std::any_of(answers.begin(), answers.end(),
                                    [](const Answer& answer) { return answer.match.has_value(); });
  const bool everything = std::all_of(answers.begin(), answers.end(), [](const Answer& answer) {
    return answer.match.has_value();
  });
  if (options.json) {
    print_json(answers, device.label);
  } else if (anything) {
    fmt::print("{}\n", device.label);
    fmt::print("{}", options.csv ? answer_table(answers).csv() : answer_table(answers).text());
    if (options.explain) print_explanations(answers);
  }
  if (anything && everything) return exit_code::kDone;
  fmt::print(stderr,
             "autotune: nothing is stored for {} of {}: tune it, or ask for a known device ({})\n",
             anything ? "some sizes" : "these sizes", device.label,
             known_devices(database, device.use_shipped));
  return exit_code::kNothingStored;
}

}  // namespace

void add_query_command(CommandLine& line) {
  auto [command, options] =
      add_command(line, "query", "Print the best known configurations", run_query);
  add_options(
      command, options,
      {{"--device", kDeviceNameHelp},
       {"--sizes", "Sizes N or MxNxK, separated by commas, or @FILE (default: all known)"}});
  add_options(command, options, {"--layout", "--db", "--no-shipped", "--json", "--csv"});
  command.add_flag("--exact", options.exact, "Only what was tuned for exactly these sizes");
  command.add_flag("--explain", options.explain, "Say why each was chosen and where it is from");
}

}  // namespace autotune
