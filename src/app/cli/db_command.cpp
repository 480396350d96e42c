// autotune db: where the database lies, what is in it, its winners as JSON lines, its trials for
// other programs, merging others.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/command.hpp"
#include "cli/db_export.hpp"
#include "cli/exit_codes.hpp"
#include "cli/table.hpp"
#include "cli/tuning_setup.hpp"
#include "core/json.hpp"

namespace autotune {
namespace {

struct DbOptions {
  std::string database;
  std::vector<std::string> others;
  ExportOptions exported;
  bool json = false;
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
    const nlohmann::ordered_json document = {{"schema", 1},
                                             {"command", "db stats"},
                                             {"path", stats.path.string()},
                                             {"bytes", stats.bytes},
                                             {"schema_version", stats.schema_version},
                                             {"runs", stats.runs},
                                             {"trials", stats.trials},
                                             {"failed_trials", stats.failed_trials},
                                             {"winners", stats.winners}};
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
  for (const Winner& winner : existing(options).winners("", "")) {
    fmt::print("{}\n", nlohmann::json(winner).dump());
  }
  return exit_code::kDone;
}

int run_merge(const DbOptions& options) {
  // A database that is not there shall leave everything as it is.
  for (const std::string& other : options.others) {
    if (TuningDatabase::open_read_only(other)) continue;
    throw UsageError(other + ": there is no database, or nothing in it");
  }
  TuningDatabase database = TuningDatabase::open(path_of(options));
  for (const std::string& other : options.others) {
    const MergeCounts counts = database.merge(other);
    fmt::print("{}: {} trials, {} winners taken in\n", other, counts.trials, counts.winners);
  }
  return exit_code::kDone;
}

int run_export(const DbOptions& options) {
  return run_export(options.exported, existing(options));
}

void add_export_options(CLI::App& command, ExportOptions& options) {
  command.add_option("--format", options.format, "t4 (tuning results, schema 1.0.0), json or csv")
      ->required();
  command.add_option("--output", options.output,
                     "The file to write, compressed if it ends in .zst (default: standard output)");
  command.add_option("--template", options.template_name, "Only this template's");
  command.add_option("--sizes", options.sizes, "Only these: N or MxNxK, with commas");
  command.add_option("--device", options.device, "Only those of the device of this name");
  command.add_flag("--no-samples", options.no_samples, "Leave out the single samples");
}

}  // namespace

void add_db_command(CommandLine& line) {
  auto options = std::make_shared<DbOptions>();
  CLI::App* command =
      line.app.add_subcommand("db", "Look at the tuning database, export it, merge others into it");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, int (*run)(const DbOptions&)) {
    CLI::App* sub = command->add_subcommand(name, help);
    sub->add_option("--db", options->database, "The tuning database");
    sub->callback(
        [&line, options, run] { line.action = [options, run] { return run(*options); }; });
    return sub;
  };
  add("path", "Print where it lies", run_path);
  add("stats", "Print how much is in it", run_stats)
      ->add_flag("--json", options->json, "Print JSON");
  add("winners", "Print its winners as JSON lines, the form of db/tuned/", run_winners);
  add_export_options(*add("export", "Print its trials for other programs", run_export),
                     options->exported);
  add("merge", "Take in what other databases have, those of shards for example", run_merge)
      ->add_option("files", options->others, "The other databases")
      ->required();
}

}  // namespace autotune
