#include "api/result_source.hpp"

#include <filesystem>
#include <utility>

#include "autotune/error.hpp"

#include "core/posix/whole_path.hpp"
#include "db/locked_file.hpp"

namespace autotune {
namespace {

// A file that is not fit to be read is not tried again for this time, so that one call pays for it.
constexpr std::chrono::seconds kPause(1);

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

}  // namespace

ResultSource::ResultSource(const std::string& database, std::chrono::milliseconds longest_wait)
    : place_(database_place(database)), longest_wait_(longest_wait) {
  try {
    if (place_.problem.empty()) place_.path = whole_path(place_.path);
  } catch (const StorageError& error) {
    if (place_.is_named) throw;
    place_.problem = error.what();
  }
  is_said_ = read([](const ResultReader&) {}).empty();  // a caller can ask for it
}

void ResultSource::keep_in_memory(TuningDatabase results) {
  const std::lock_guard lock(mutex_);
  in_memory_.emplace(std::move(results));
}

void ResultSource::look_again(bool from_file) {
  const std::lock_guard lock(mutex_);
  if (from_file) in_memory_.reset();
  next_try_ = {};
}

void ResultSource::refresh() const {
  try {
    if (is_open_ && (file_ ? file_->is_unchanged() : !is_there(place_.path))) return;
  } catch (const LockedFile&) {
    throw;
  } catch (const StorageError&) {
    // Opening the file says what is wrong with it, or puts it right.
  }
  constexpr std::chrono::milliseconds kNone(0);
  // The connection keeps its wait, so one that was opened in haste is opened again by the next
  // call.
  const bool in_haste = waited_in_vain_;
  file_ = read_results(place_, in_haste ? kNone : longest_wait_);
  known_ = RememberedResults();
  is_open_ = !in_haste;
}

std::string ResultSource::read(const std::function<void(const ResultReader&)>& read) const {
  const std::lock_guard lock(mutex_);
  if (in_memory_) {
    read(*in_memory_);
    return "";
  }
  if (Clock::now() >= next_try_) try {
      refresh();
      known_.read_from(file_ ? &*file_ : nullptr);
      file_ ? file_->read_together([&] { read(known_); }) : read(known_);
      waited_in_vain_ = false;
      problem_.clear();
      return "";
    } catch (const StorageError& error) {
      waited_in_vain_ = dynamic_cast<const LockedFile*>(&error) != nullptr;
      if (place_.is_named && !waited_in_vain_) throw;
      is_said_ = is_said_ && problem_ == error.what();
      problem_ = error.what();
      if (!waited_in_vain_) next_try_ = Clock::now() + kPause;
    }
  known_.read_from(nullptr);
  read(known_);
  return std::exchange(is_said_, true) ? "" : problem_;
}

}  // namespace autotune
