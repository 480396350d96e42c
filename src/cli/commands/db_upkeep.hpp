// autotune db list, top, rm and prune: what is in the database, and removing it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/db_export.hpp"

namespace autotune {

struct DbOptions : ExportOptions {
  using ExportOptions::ExportOptions;

  std::vector<std::string> others;  // of merge
  std::int64_t top = 10;
  bool all = false;
  bool dry_run = false;
};

// Each returns the exit code. run_db_list() and run_db_top() read, run_db_remove() and
// run_db_prune() write.
int run_db_list(const DbOptions& options);
int run_db_top(const DbOptions& options);
int run_db_remove(const DbOptions& options);
int run_db_prune(const DbOptions& options);

}  // namespace autotune
