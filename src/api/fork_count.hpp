// Whether this process was forked from the one that made an object: threads and the driver's
// contexts do not come along.
#pragma once

#include <cstdint>
#include <memory>

namespace autotune {

// The number of forks between the first process and this one. Counts from its first call on.
[[nodiscard]] std::uint32_t fork_count() noexcept;

// Throws UsageError unless the count is what it was when an object was made.
void check_not_forked(std::uint32_t count);

// Owns an object that is not destroyed in a process forked from this one: its threads do not exist
// there, and the driver must not be called.
template <typename T>
[[nodiscard]] std::shared_ptr<T> not_destroyed_in_forks(T* object) {
  return std::shared_ptr<T>(object, [forks = fork_count()](T* owned) {
    if (forks == fork_count()) delete owned;
  });
}

}  // namespace autotune
