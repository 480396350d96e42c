// autotune query: the best known configurations, from the database and what was shipped.
#include <memory>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "api/lookup.hpp"
#include "cli/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/results_json.hpp"
#include "cli/size_list.hpp"
#include "cli/table.hpp"
#include "cli/tuning_setup.hpp"

namespace autotune {
namespace {

struct QueryOptions {
  std::string device;
  std::string sizes;
  std::string layout = "NN";
  std::string database;
  bool exact = false;
  bool explain = false;
  bool json = false;
  bool csv = false;
};

struct Answer {
  GemmProblem problem;
  std::optional<Match> match;
};

DeviceQuery device_query(const std::string& option) {
  if (!option.empty()) return device_named(option);
  const DeviceInfo device = device_for("auto");
  return {.device_class = device.device_class(), .label = device.label, .environment = {}};
}

std::vector<Answer> find_answers(const QueryOptions& options, const TuningDatabase* database,
                                 const DeviceQuery& device) {
  std::vector<Answer> answers;
  if (options.sizes.empty()) {
    for (Match& match : list_winners(database, device)) {
      const GemmProblem problem = match.winner.problem;
      answers.push_back({problem, std::move(match)});
    }
    return answers;
  }
  for (GemmProblem& problem : parse_sizes(options.sizes)) {
    set_layout(problem, options.layout);
    answers.push_back({problem, find_best(database, device, problem, options.exact)});
  }
  return answers;
}

Table answer_table(const std::vector<Answer>& answers) {
  RateColumn rates;
  for (const auto& [problem, match] : answers) {
    if (match) rates.add(gflops(match->winner.problem, match->winner.median_us));
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
    entry["tuned_for"] = to_string(match->winner.problem);
    entry["shipped"] = match->shipped;
    entry["explanation"] = match->explanation;
    document["results"].push_back(std::move(entry));
  }
  document["known"] = answers.size();
  fmt::print("{}\n", document.dump(2));
}

std::string known_devices(const TuningDatabase* database) {
  std::set<std::string> labels;
  for (const Match& match : list_winners(database, {})) labels.insert(match.winner.device_label);
  return labels.empty() ? "none" : fmt::format("{}", fmt::join(labels, ", "));
}

int run_query(const QueryOptions& options) {
  if (!options.sizes.empty()) static_cast<void>(parse_sizes(options.sizes));
  const DeviceQuery device = device_query(options.device);
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
    if (options.explain) {
      for (const auto& [problem, match] : answers) {
        if (match) {
          fmt::print("{}: {}\n  {}, driver {}, NVRTC {}, {}\n", to_string(problem),
                     match->explanation, match->winner.device_class,
                     match->winner.environment.driver, match->winner.environment.nvrtc_build,
                     match->winner.measured_at);
        }
      }
    }
  }
  if (anything && everything) return exit_code::kDone;
  fmt::print(stderr,
             "autotune: nothing is stored for {} of {}: tune it, or ask for a known device ({})\n",
             anything ? "some sizes" : "these sizes", device.label, known_devices(database));
  return exit_code::kNothingStored;
}

}  // namespace

void add_query_command(CommandLine& line) {
  auto options = std::make_shared<QueryOptions>();
  CLI::App* command = line.app.add_subcommand("query", "Print the best known configurations");
  command->add_option("--device", options->device,
                      "A device's name (default: the GPU that is here)");
  command->add_option("--sizes", options->sizes, "Sizes: N or MxNxK, with commas (default: all)");
  command->add_option("--layout", options->layout, "NN, NT, TN or TT: op(A), op(B)");
  command->add_option("--db", options->database, "The tuning database");
  command->add_flag("--exact", options->exact, "Only what was tuned for exactly these sizes");
  command->add_flag("--explain", options->explain, "Say why each was chosen and where it is from");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--csv", options->csv, "Print CSV");
  command->callback([&line, options] { line.action = [options] { return run_query(*options); }; });
}

}  // namespace autotune
