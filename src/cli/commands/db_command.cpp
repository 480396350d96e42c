// autotune db: prints the database's path, statistics, winners and trials, and merges databases.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/commands/command.hpp"
#include "cli/commands/db_upkeep.hpp"
#include "cli/exit_codes.hpp"
#include "cli/options/option_values.hpp"
#include "cli/options/options.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "core/json.hpp"
#include "db/default_paths.hpp"
#include "kernel_templates/possible_time.hpp"

namespace autotune {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DatabaseStats, path, bytes, schema_version, runs, trials,
                                   failed_trials, winners)

namespace {

std::filesystem::path path_of(const DbOptions& options) {
  return options.database.empty() ? default_database_path()
                                  : std::filesystem::path(options.database);
}

int run_path(const DbOptions& options) {
  fmt::print("{}\n", printable(path_of(options).string()));
  return exit_code::kDone;
}

int run_stats(const DbOptions& options) {
  const DatabaseStats stats = existing_database(options.database).stats();
  if (options.json) {
    nlohmann::ordered_json document = {{"schema", 1}, {"command", "db stats"}};
    document.update(nlohmann::ordered_json(nlohmann::json(stats)));
    print_document(document);
    return exit_code::kDone;
  }
  Table table({"path", stats.path.string()});
  table.add({"bytes", std::to_string(stats.bytes)});
  table.add({"schema version", std::to_string(stats.schema_version)});
  table.add({"runs", std::to_string(stats.runs)});
  table.add({"trials", fmt::format("{} ({} failed)", stats.trials, stats.failed_trials)});
  table.add({"winners", std::to_string(stats.winners)});
  fmt::print("{}", table.text(output_columns()));
  return exit_code::kDone;
}

int run_winners(const DbOptions& options) {
  for (const Winner& winner : existing_database(options.database).winners({})) {
    fmt::print("{}\n", nlohmann::json(winner).dump(-1, ' ', true,
                                                   nlohmann::json::error_handler_t::replace));
  }
  return exit_code::kDone;
}

int run_merge(const DbOptions& options) {
  // Checks all of them before it merges the first.
  for (const std::string& other : options.others) {
    if (TuningDatabase::open_read_only(other)) continue;
    throw UsageError(in_quotes(other) + (std::filesystem::exists(other)
                                             ? " has nothing in it: name another database"
                                             : " does not exist: name a database"));
  }
  check_database_folder(options.database);
  TuningDatabase database = TuningDatabase::open(path_of(options));
  for (const std::string& other : options.others) {
    const MergeCounts counts = database.merge(other, possible_time(options.kernels()));
    fmt::print("{}: {}, {} merged\n", printable(other), counted(counts.trials, "trial"),
               counted(counts.winners, "winner"));
    const auto warn = [&](std::int64_t count, const char* what, const char* why) {
      if (count == 0) return;
      say(fmt::format("warning: {}: {} left out, {}", printable(other), counted(count, what), why));
    };
    warn(counts.impossible, "result", "faster than the device can be");
    warn(counts.damaged, "row", "damaged");
  }
  return exit_code::kDone;
}

int run_export_command(const DbOptions& options) {
  return run_db_export(options);
}

// Which trials.
void add_choice(CLI::App& command, DbOptions& options) {
  // The database may hold trials of templates that this program does not have.
  add_text_option(command, "--template", "NAME", "Only the trials of this template",
                  [&options](const std::string& name) { options.template_name = name; });
  add_options(command, options,
              {{"--sizes", "Only the trials of these sizes"},
               {"--layout", "Only those in this layout"},
               {"--type", "Only those of operands of this type"},
               {"--out-type", "Only those with results of this type"},
               {"--batch", "Only those of batches of N products (1: of single ones)"},
               {"--math", "Only those of this arithmetic"},
               {"--device", "Only the trials of the device of this name"}});
}

void add_export_options(CLI::App& command, DbOptions& options) {
  add_choice_option(command, "--format", {"t4", "json", "csv"},
                    "The file format (default: by the ending of --output); t4 is tuning results, "
                    "schema 1.0.0",
                    options.format);
  add_output_option(command, "--output", "FILE",
                    "The file to write: .csv, .t4.json or .json, also with .gz or .zst (default: "
                    "-, standard output)",
                    /*to_standard_output=*/true, options.output);
  add_choice(command, options);
  command.add_flag("--no-samples", options.no_samples, "Leave out the times of the single samples");
}

void add_top_options(CLI::App& command, DbOptions& options) {
  add_number_option(command, "--count", 1000, "Trials of each size (default 10)", options.top);
  add_text_option(command, "--template", "NAME", "Only the trials of this template",
                  [&options](const std::string& name) { options.template_name = name; });
  add_options(
      command, options,
      {{"--device", "Only the trials of the device of this name"},
       {"--sizes", "Sizes N or MxNxK, separated by commas, or @FILE (default: all)"},
       {"--layout", "Only trials in this layout (default NN, without --sizes: all)"},
       {"--type", "Only trials of operands of this type (default f32, without --sizes: all)"},
       {"--out-type", "Only trials with results of this type"},
       {"--batch", "Only trials of batches of N products (default 1, without --sizes: all)"},
       {"--math", "Only trials of this arithmetic (default strict, without --sizes: all)"},
       "--wide",
       "--json",
       "--csv"});
}

void add_remove_options(CLI::App& command, DbOptions& options) {
  add_choice(command, options);
  command.add_flag("--all", options.all, "Remove everything");
  command.add_flag("--dry-run", options.dry_run, "Only list what would be removed");
}

}  // namespace

void add_db_command(CommandLine& line) {
  auto options = std::make_shared<DbOptions>(line.portfolios);
  CLI::App* command = line.app.add_subcommand(
      "db", "Look at the tuning database, export it, remove from it, merge others into it");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, int (*run)(const DbOptions&),
                       const char* examples) -> CLI::App& {
    CLI::App& sub = *command->add_subcommand(name, help);
    add_options(sub, *options, {"--db"});
    sub.footer(examples);
    sub.callback([&line, options, run] { line.action = [options, run] { return run(*options); }; });
    return sub;
  };
  add("path", "Print the path of the database", run_path, "autotune db path");
  add_options(add("stats", "Print how much the database holds", run_stats,
                  "autotune db stats\nautotune db stats --db part-1.db --json"),
              *options, {"--json"});
  add("winners", "Print the stored winners as JSON lines, the form of db/tuned/", run_winners,
      "autotune db winners > winners.jsonl");
  add_export_options(add("export", "Print the stored trials for other programs", run_export_command,
                         "autotune db export --output trials.csv.gz\n"
                         "autotune db export --sizes 1024 --output trials.t4.json.zst"),
                     *options);
  CLI::App& list = add("list", "List the sizes that have stored trials", run_db_list,
                       "autotune db list\nautotune db list --device H200 --template gemm_tma");
  add_choice(list, *options);
  add_options(list, *options, {"--json"});
  add_top_options(add("top", "Print the fastest stored trials of each size", run_db_top,
                      "autotune db top --sizes 1024 --count 5"),
                  *options);
  add_remove_options(
      add("rm", "Remove trials, winners and what is known of searches", run_db_remove,
          "autotune db rm --template gemm_tiled --dry-run\nautotune db rm --sizes 1024,2048"),
      *options);
  add("prune",
      "Remove trials of other versions of the templates and those that were made again, and give "
      "the space on disk back",
      run_db_prune, "autotune db prune");
  CLI::App& merge = add("merge", "Merge other databases into this one, e.g. those of shards",
                        run_merge, "autotune db merge part-1.db part-2.db --db all.db");
  refuse_empty(merge.add_option("FILE", options->others, "The other databases"))
      ->required()
      ->type_name("");
  command->footer(
      "autotune db list\n"
      "autotune db top --sizes 1024 --count 5\n"
      "autotune db rm --template gemm_tiled --dry-run\n"
      "autotune db export --output trials.csv");
}

}  // namespace autotune
