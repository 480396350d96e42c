// The tuning results that kernels are chosen by: the database, or what could not be stored there.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "api/remembered_results.hpp"
#include "api/setup.hpp"
#include "db/tuning_database.hpp"

namespace autotune {

// Keeps the file open, and what was read of it in memory until the file changes. Thread-safe.
class ResultSource {
 public:
  // `database`: as LibraryOptions has it; a relative path is one of today's folder. Throws
  // StorageError when it is named and cannot be read for another reason than a lock. A file that
  // another process has locked is waited for by a call, here too, for `longest_wait`, and after a
  // wait in vain by the next calls hardly at all, until one succeeds.
  explicit ResultSource(const std::string& database,
                        std::chrono::milliseconds longest_wait = kCallWait);

  [[nodiscard]] const DatabasePlace& place() const { return place_; }

  // From now on these are what is read.
  void keep_in_memory(TuningDatabase results);

  // The next call reads the file even if one before it could not: this process has changed it.
  // With `from_file` results that were kept in memory no longer stand in its place.
  void look_again(bool from_file);

  // Calls `read` with the results as they are now, or if these cannot be read, with those that are
  // known; perhaps twice, of which the second call counts. Returns why they cannot be read if no
  // call has returned that yet, else an empty text. Throws as the constructor.
  std::string read(const std::function<void(const ResultReader&)>& read) const;

 private:
  using Clock = std::chrono::steady_clock;

  // Opens the file if it is not open, or was changed or replaced.
  void refresh() const;

  DatabasePlace place_;
  std::chrono::milliseconds longest_wait_;
  mutable std::mutex mutex_;
  mutable std::optional<TuningDatabase> in_memory_;
  mutable std::optional<TuningDatabase> file_;
  mutable bool is_open_ = false;  // perhaps without a file, where there is none
  mutable RememberedResults known_;
  mutable bool waited_in_vain_ = false;
  mutable Clock::time_point next_try_;  // before it a file with another fault is left alone
  mutable std::string problem_;         // why it cannot be read
  mutable bool is_said_ = false;
};

}  // namespace autotune
