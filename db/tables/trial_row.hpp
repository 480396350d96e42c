// One trial as the columns of its row, with the hash over them.
#pragma once

#include <optional>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/trial.hpp"
#include "db/tuning_database.hpp"

namespace autotune {

// All columns that hold the trial itself, as they are stored.
struct TrialColumns {
  std::string configuration;
  std::string status;
  std::string detail;
  double median_us = 0;
  std::string measurement;
  std::string verification;
  std::string resources;
};

[[nodiscard]] TrialColumns columns_of(const Trial& trial);
[[nodiscard]] std::string trial_hash(const TrialScope& scope, const std::string& run_guid,
                                     const Problem& problem, const TrialColumns& columns);

// The columns of a query's row that has those of trial.
[[nodiscard]] TrialColumns columns_of(const SQLite::Statement& row);
// The same; nullopt when they do not match their hash, or have a time that is none.
[[nodiscard]] std::optional<TrialColumns> sound_columns_of(const SQLite::Statement& row,
                                                           const TrialScope& scope,
                                                           const std::string& run_guid,
                                                           const Problem& problem);
// Reads a query's row that has the columns of trial and the run's guid. nullopt when the row is
// damaged, or is not of this scope and problem, as a damaged index may say.
[[nodiscard]] std::optional<Trial> trial_from(const SQLite::Statement& row, const TrialScope& scope,
                                              const Problem& problem);

}  // namespace autotune
