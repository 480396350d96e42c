#include "cli/db_export.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "cli/exit_codes.hpp"
#include "cli/session.hpp"
#include "cli/size_list.hpp"
#include "cli/trial_export.hpp"
#include "core/compression.hpp"

namespace autotune {
namespace {

constexpr int kSmallestLevel = 19;

std::vector<StoredTrial> chosen_trials(const ExportOptions& options,
                                       const TuningDatabase& database) {
  const std::string label = options.device.empty() ? "" : device_named(options.device).label;
  std::vector<StoredTrial> trials = database.all_trials(label, options.template_name);
  if (options.sizes.empty()) return trials;
  const std::vector<GemmProblem> sizes = parse_sizes(options.sizes);
  std::erase_if(trials, [&](const StoredTrial& stored) {
    return std::none_of(sizes.begin(), sizes.end(), [&](const GemmProblem& size) {
      return same_size(size, stored.trial.problem);
    });
  });
  return trials;
}

std::string document_of(const ExportOptions& options, std::span<const StoredTrial> trials) {
  if (options.format == "t4") return trials_as_t4(trials, !options.no_samples);
  if (options.format == "json") return trials_as_json(trials, !options.no_samples);
  return trials_as_csv(trials);
}

// The whole file or none: until it is there, what was there before stays.
void write_file(const std::string& path, const std::string& bytes) {
  namespace fs = std::filesystem;
  const auto fail = [&path](int error) {
    throw StorageError("--output: " + path + ": cannot be written: " + std::strerror(error));
  };
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  const bool replaced = !fs::exists(status) || fs::is_regular_file(status);  // not /dev/stdout
  const fs::path target = replaced ? fs::weakly_canonical(path, error) : fs::path(path);
  const fs::path written = replaced ? fs::path(target.string() + ".part") : target;
  std::ofstream file(written, std::ios::binary);
  if (!file) fail(errno);
  file << bytes;
  file.close();
  const int write_error = file ? 0 : errno;
  if (replaced && write_error == 0) fs::rename(written, target, error);
  if (write_error == 0 && !error) return;
  const int reason = write_error != 0 ? write_error : error.value();
  if (replaced) fs::remove(written, error);
  fail(reason);
}

}  // namespace

int run_export(const ExportOptions& options, const TuningDatabase& database) {
  if (options.format != "t4" && options.format != "json" && options.format != "csv") {
    throw UsageError("--format: '" + options.format + "' is unknown: use t4, json or csv");
  }
  const std::vector<StoredTrial> trials = chosen_trials(options, database);
  if (trials.empty()) {
    fmt::print(stderr, "autotune: no trials are stored for this: ask for more, or tune first\n");
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
