#include "cli/commands/db_export.hpp"

#include <iterator>

#include "autotune/error.hpp"

#include "cli/exit_codes.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/output_files.hpp"
#include "cli/output/output_form.hpp"
#include "cli/output/table.hpp"
#include "cli/output/trial_export.hpp"

namespace autotune {
namespace {

std::vector<StoredTrial> chosen_trials(const ExportOptions& options,
                                       const TuningDatabase& database) {
  std::vector<StoredTrial> trials = database.all_trials(
      {.device_label = device_named(options, &database).label}, options.template_name);
  std::erase_if(trials,
                [&](const StoredTrial& stored) { return !options.lists(stored.trial.problem); });
  return trials;
}

std::string document_of(const std::string& format, const ExportOptions& options,
                        std::span<const StoredTrial> trials) {
  if (format == "t4") return trials_as_t4(trials, !options.no_samples);
  if (format == "json") return trials_as_json(trials, !options.no_samples);
  return trials_as_csv(trials, options.kernels());
}

}  // namespace

int run_db_export(const ExportOptions& options) {
  const OutputForm form =
      output_form(options.output, options.format, "",
                  {{".csv", {"csv"}}, {".t4.json", {"t4"}}, {".json", {"json", "t4"}}},
                  /*can_be_packed=*/true);
  if (form.format.empty()) {
    throw UsageError(
        "--format is missing: use t4, json or csv, e.g. --format csv, or name a file, "
        "e.g. --output trials.csv");
  }
  const OutputRule rule{.begins = {std::begin(kExportBegins), std::end(kExportBegins)}};
  OutputFiles(rule).check(options.output);
  const TuningDatabase database = existing_database(options.database);
  const std::vector<StoredTrial> trials = chosen_trials(options, database);
  if (trials.empty()) return nothing_matches(options.kernels(), options.template_name, database);
  write_output(rule, options.output, form.packed(document_of(form.format, options, trials)),
               counted(trials.size(), "trial"));
  return exit_code::kDone;
}

}  // namespace autotune
