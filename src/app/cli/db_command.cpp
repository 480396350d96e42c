// autotune db: prints the database's path, statistics, winners and trials, and merges databases.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/command.hpp"
#include "cli/db_export.hpp"
#include "cli/exit_codes.hpp"
#include "cli/option_values.hpp"
#include "cli/options.hpp"
#include "cli/table.hpp"
#include "cli/tuning_setup.hpp"
#include "core/json.hpp"
#include "db/default_paths.hpp"

namespace autotune {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DatabaseStats, path, bytes, schema_version, runs, trials,
                                   failed_trials, winners)

namespace {

struct DbOptions : ExportOptions {
  std::vector<std::string> others;
};

std::filesystem::path path_of(const DbOptions& options) {
  return options.database.empty() ? default_database_path()
                                  : std::filesystem::path(options.database);
}

TuningDatabase existing(const DbOptions& options) {
  std::optional<TuningDatabase> database = open_database_read_only(options.database);
  if (!database) {
    throw UsageError(fmt::format("there is no database at {} yet: tune something first",
                                 path_of(options).string()));
  }
  return std::move(*database);
}

int run_path(const DbOptions& options) {
  fmt::print("{}\n", path_of(options).string());
  return exit_code::kDone;
}

int run_stats(const DbOptions& options) {
  const DatabaseStats stats = existing(options).stats();
  if (options.json) {
    nlohmann::ordered_json document = {{"schema", 1}, {"command", "db stats"}};
    document.update(nlohmann::ordered_json(nlohmann::json(stats)));
    fmt::print("{}\n", document.dump(2));
    return exit_code::kDone;
  }
  Table table({"path", stats.path.string()});
  table.add({"bytes", std::to_string(stats.bytes)});
  table.add({"schema version", std::to_string(stats.schema_version)});
  table.add({"runs", std::to_string(stats.runs)});
  table.add({"trials", fmt::format("{} ({} failed)", stats.trials, stats.failed_trials)});
  table.add({"winners", std::to_string(stats.winners)});
  fmt::print("{}", table.text());
  return exit_code::kDone;
}

int run_winners(const DbOptions& options) {
  for (const Winner& winner : existing(options).winners({})) {
    fmt::print("{}\n", nlohmann::json(winner).dump());
  }
  return exit_code::kDone;
}

int run_merge(const DbOptions& options) {
  // Checks all of them before it merges the first.
  for (const std::string& other : options.others) {
    if (TuningDatabase::open_read_only(other)) continue;
    throw UsageError(in_quotes(other) + " must be a database that has something in it");
  }
  TuningDatabase database = TuningDatabase::open(path_of(options));
  for (const std::string& other : options.others) {
    const MergeCounts counts = database.merge(other);
    fmt::print("{}: {} trials, {} winners merged\n", other, counts.trials, counts.winners);
  }
  return exit_code::kDone;
}

int run_export_command(const DbOptions& options) {
  return run_export(options, existing(options));
}

void add_export_options(CLI::App& command, DbOptions& options) {
  add_options(command, options, {"--format"});
  command.get_option("--format")->required();
  command
      .add_option("--output", options.output,
                  "The file to write, compressed if it ends in .zst (default: standard output)")
      ->type_name("FILE");
  // The database may hold trials of templates that this program does not have.
  command.add_option("--template", options.template_name, "Only the trials of this template")
      ->type_name("NAME");
  add_options(command, options,
              {{"--sizes", "Only the trials of these sizes, in any layout"},
               {"--device", "Only the trials of the device of this name"}});
  command.add_flag("--no-samples", options.no_samples, "Leave out the single samples");
}

}  // namespace

void add_db_command(CommandLine& line) {
  auto options = std::make_shared<DbOptions>();
  CLI::App* command =
      line.app.add_subcommand("db", "Look at the tuning database, export it, merge others into it");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* help,
                       int (*run)(const DbOptions&)) -> CLI::App& {
    CLI::App& sub = *command->add_subcommand(name, help);
    add_options(sub, *options, {"--db"});
    sub.callback([&line, options, run] { line.action = [options, run] { return run(*options); }; });
    return sub;
  };
  add("path", "Print its path", run_path);
  add_options(add("stats", "Print how much it holds", run_stats), *options, {"--json"});
  add("winners", "Print its winners as JSON lines, the form of db/tuned/", run_winners);
  add_export_options(add("export", "Print its trials for other programs", run_export_command),
                     *options);
  add("merge", "Merge other databases into it, e.g. those of shards", run_merge)
      .add_option("files", options->others, "The other databases")
      ->required()
      ->type_name("FILE");
}

}  // namespace autotune
