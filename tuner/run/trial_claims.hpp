// Which trials a run is about to make, so that other runs on the same database leave them alone.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/posix/file_descriptor.hpp"
#include "db/tuning_database.hpp"

namespace autotune {

// A claim is a lock on one byte of an empty file beside the database, at a place that the trial's
// hash says. The kernel gives up the locks of a run that ends, however it ends. Thread-safe.
class TrialClaims {
 public:
  using Key = std::int64_t;
  [[nodiscard]] static Key key_of(const TrialScope& scope, const Problem& problem,
                                  const Configuration& configuration);

  // Where the file cannot be made, and for a database in memory (an empty path), every claim
  // succeeds.
  explicit TrialClaims(const std::filesystem::path& database);

  // False when another run, or another object, has claimed it.
  [[nodiscard]] bool claim(Key key) const;
  void release(Key key) const;

 private:
  FileDescriptor file_;
};

}  // namespace autotune
