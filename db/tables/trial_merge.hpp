// The trials of another database, in batches. SQLite's exceptions pass through.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "db/tables/provenance.hpp"
#include "db/tables/trial_row.hpp"

namespace autotune {

// A sound trial of another database. Its scope and run are there until OtherTrials::next() is
// called again.
struct OtherTrial {
  const TrialScope* scope = nullptr;
  const RunColumns* run = nullptr;
  Problem problem;
  TrialColumns columns;
  std::string hash;
};

// Reads, parses and hashes the trials of another database, which takes most of the time of a merge.
// The other database is not locked between the batches.
class OtherTrials {
 public:
  explicit OtherTrials(SQLite::Database& other) : other_(other) {}

  // Returns the next sound ones, in the order they were stored: some thousand of them, or those of
  // some megabytes.
  [[nodiscard]] std::vector<OtherTrial> next();
  [[nodiscard]] bool at_end() const { return at_end_; }
  // The number of rows that were left out so far.
  [[nodiscard]] std::int64_t damaged() const { return damaged_; }

 private:
  SQLite::Database& other_;
  std::map<std::int64_t, TrialScope> scopes_;
  std::map<std::string, RunColumns> runs_;  // by guid
  std::int64_t last_row_ = 0;
  std::int64_t damaged_ = 0;
  bool at_end_ = false;
};

// Adds those of the trials that `database` lacks, with their runs, in their order, and returns
// their number. Wants a transaction around it.
std::int64_t merge_trials(SQLite::Database& database, std::span<const OtherTrial> trials);

}  // namespace autotune
