// Whether this process was forked from the one that made an object: threads and the driver's
// contexts do not come along.
#pragma once

#include <cstdint>

namespace autotune {

// The number of forks between the first process and this one. Counts from its first call on.
[[nodiscard]] std::uint32_t fork_count() noexcept;

// Throws UsageError unless the count is what it was when an object was made.
void check_not_forked(std::uint32_t count);

}  // namespace autotune
