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

// A file that was not written whole is no file.
void write_file(const std::string& path, const std::string& bytes) {
  const auto fail = [&path](int error) {
    throw StorageError("--output: " + path + ": cannot be written: " + std::strerror(error));
  };
  std::ofstream file(path, std::ios::binary);
  if (!file) fail(errno);  // what is there stays as it is
  file << bytes;
  file.close();
  if (file) return;
  const int error = errno;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
  fail(error);
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
