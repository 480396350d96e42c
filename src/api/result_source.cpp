#include "api/result_source.hpp"

#include <utility>

#include "api/setup.hpp"

namespace autotune {

ResultSource::ResultSource(std::string database) : database_(std::move(database)) {
  static_cast<void>(read_results(database_));  // what cannot be read is said at once
}

void ResultSource::keep_in_memory(TuningDatabase results) {
  const std::lock_guard lock(in_memory_mutex_);
  in_memory_.emplace(std::move(results));
}

std::string ResultSource::read(const std::function<void(const TuningDatabase*)>& read) const {
  {
    const std::lock_guard lock(in_memory_mutex_);  // for one reader at a time
    if (in_memory_) {
      read(&*in_memory_);
      return "";
    }
  }
  OpenedResults file = read_results(database_);
  read(file.database ? &*file.database : nullptr);
  return std::move(file.problem);
}

}  // namespace autotune
