#include "cli/commands/db_export.hpp"

#include <filesystem>
#include <optional>

#include "api/device_choice.hpp"
#include "cli/exit_codes.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/output_file.hpp"
#include "cli/output/table.hpp"
#include "cli/output/trial_export.hpp"
#include "core/compression.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

constexpr int kSmallestLevel = 19;

std::vector<StoredTrial> chosen_trials(const ExportOptions& options,
                                       const TuningDatabase& database) {
  std::vector<StoredTrial> trials = database.all_trials(
      {.device_label = device_named(options, &database).label, .operation = kGemm},
      options.template_name);
  std::erase_if(trials, [&](const StoredTrial& stored) {
    const std::optional<GemmProblem> gemm = if_gemm(stored.trial.problem);
    return !gemm || !options.selects(*gemm);
  });
  return trials;
}

std::string document_of(const ExportOptions& options, std::span<const StoredTrial> trials) {
  if (options.format == "t4") return trials_as_t4(trials, !options.no_samples);
  if (options.format == "json") return trials_as_json(trials, !options.no_samples);
  return trials_as_csv(trials);
}

}  // namespace

int run_export(const ExportOptions& options, const TuningDatabase& database) {
  const std::vector<StoredTrial> trials = chosen_trials(options, database);
  if (trials.empty()) return nothing_matches(options.template_name, database);
  const std::string document = document_of(options, trials);
  const bool compress = std::filesystem::path(options.output).extension() == ".zst";
  write_output(options.output, compress ? compressed(document, kSmallestLevel) : document,
               counted(trials.size(), "trial"));
  return exit_code::kDone;
}

}  // namespace autotune
