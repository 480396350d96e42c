#include "cli/db_export.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

#include "autotune/error.hpp"

#include "api/device_choice.hpp"
#include "cli/exit_codes.hpp"
#include "cli/option_values.hpp"
#include "cli/trial_export.hpp"
#include "cli/tuning_setup.hpp"
#include "core/compression.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

constexpr int kSmallestLevel = 19;

std::vector<StoredTrial> chosen_trials(const ExportOptions& options,
                                       const TuningDatabase& database) {
  std::vector<StoredTrial> trials = database.all_trials(
      {.device_label = device_named(options).label, .operation = kGemm}, options.template_name);
  if (options.sizes.empty()) return trials;
  std::erase_if(trials, [&](const StoredTrial& stored) {
    return std::none_of(options.sizes.begin(), options.sizes.end(), [&](const GemmProblem& size) {
      return same_size(size, gemm_problem(stored.trial.problem));
    });
  });
  return trials;
}

std::string document_of(const ExportOptions& options, std::span<const StoredTrial> trials) {
  if (options.format == "t4") return trials_as_t4(trials, !options.no_samples);
  if (options.format == "json") return trials_as_json(trials, !options.no_samples);
  return trials_as_csv(trials);
}

// Replaces a regular file only once the new one is whole. Anything else (a link, /dev/stdout, a
// file in a folder that takes no new one) is written in place.
void write_file(const std::string& path, const std::string& bytes) {
  namespace fs = std::filesystem;
  const auto fail = [&path](int error) {
    throw StorageError("--output: " + path + ": cannot be written: " + std::strerror(error));
  };
  std::error_code error;
  const fs::file_status before = fs::symlink_status(path, error);
  if (fs::is_regular_file(before) && ::access(path.c_str(), W_OK) != 0) fail(errno);
  const fs::path beside =
      fs::path(path).parent_path() / fmt::format(".autotune-export-{}", ::getpid());
  std::ofstream file;
  if (fs::is_regular_file(before)) file.open(beside, std::ios::binary);
  const bool replaces = file.is_open();
  if (!replaces) {
    file.clear();
    file.open(path, std::ios::binary);
  }
  if (!file) fail(errno);
  file << bytes;
  file.close();
  const int write_error = file ? 0 : errno;
  if (replaces && write_error == 0) {
    fs::permissions(beside, before.permissions(), error);
    if (!error) fs::rename(beside, path, error);
  }
  if (write_error == 0 && !(replaces && error)) return;
  const int reason = write_error != 0 ? write_error : error.value();
  // An incomplete file is removed.
  if (replaces || !fs::exists(before)) fs::remove(replaces ? beside : fs::path(path), error);
  fail(reason);
}

}  // namespace

int run_export(const ExportOptions& options, const TuningDatabase& database) {
  const std::vector<StoredTrial> trials = chosen_trials(options, database);
  if (trials.empty()) {
    fmt::print(stderr,
               "autotune: no stored trials match these options: relax them, or tune first\n");
    return exit_code::kNothingStored;
  }
  const std::string document = document_of(options, trials);
  if (options.output.empty()) {
    fmt::print("{}", document);
  } else {
    const bool compress = std::filesystem::path(options.output).extension() == ".zst";
    write_file(options.output, compress ? compressed(document, kSmallestLevel) : document);
  }
  return exit_code::kDone;
}

}  // namespace autotune
