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

#include "cli/exit_codes.hpp"
#include "cli/size_list.hpp"
#include "cli/trial_export.hpp"
#include "cli/tuning_setup.hpp"
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

// Of a file that is replaced, what was there stays until the new one is whole. Anything else (a
// link, /dev/stdout, a file where the folder takes no other) is written in its place.
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
  // A file that was not written whole is no file.
  if (replaces || !fs::exists(before)) fs::remove(replaces ? beside : fs::path(path), error);
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
