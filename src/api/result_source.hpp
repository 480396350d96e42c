// The tuning results that kernels are chosen by: the database, or what could not be stored there.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "db/tuning_database.hpp"

namespace autotune {

// Thread-safe.
class ResultSource {
 public:
  // `database`: as LibraryOptions has it. Throws StorageError when it is named and cannot be read.
  explicit ResultSource(std::string database);

  [[nodiscard]] const std::string& database() const { return database_; }

  // From now on these are what is read.
  void keep_in_memory(TuningDatabase results);

  // Calls `read` with the results as they are now; nullptr where there are none. Returns why a
  // default database cannot be read, else an empty text.
  std::string read(const std::function<void(const TuningDatabase*)>& read) const;

 private:
  std::string database_;
  mutable std::mutex in_memory_mutex_;
  std::optional<TuningDatabase> in_memory_;
};

}  // namespace autotune
