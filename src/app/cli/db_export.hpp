// autotune db export: the trials of a database as a file for other programs.
#pragma once

#include <string>

#include "db/tuning_database.hpp"

namespace autotune {

struct ExportOptions {
  std::string format;
  std::string output;  // empty: standard output
  std::string template_name;
  std::string sizes;
  std::string device;
  bool no_samples = false;
};

// Returns the exit code. Throws UsageError for options that are wrong, StorageError when the file
// cannot be written.
int run_export(const ExportOptions& options, const TuningDatabase& database);

}  // namespace autotune
