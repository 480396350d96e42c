// autotune db export: the trials of a database as a file for other programs.
#pragma once

#include <string>

#include "cli/options/options.hpp"
#include "db/tuning_database.hpp"

namespace autotune {

struct ExportOptions : Options {
  using Options::Options;

  std::string format;         // t4, json or csv; empty: as the output's name has it
  std::string output;         // empty: standard output
  std::string template_name;  // empty: all
  bool no_samples = false;
};

// Returns the exit code. Throws StorageError when the file cannot be written.
int run_db_export(const ExportOptions& options);

}  // namespace autotune
