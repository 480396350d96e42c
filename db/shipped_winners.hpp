// The winners that ship with the program: db/tuned/*.jsonl, embedded at build time.
#pragma once

#include <vector>

#include "core/winner.hpp"
#include "db/result_filter.hpp"

namespace autotune {

// All of them, read when they are first asked for and kept until the process ends. Throws Error
// when an embedded line does not parse (a test reads them all). Thread-safe.
[[nodiscard]] const std::vector<Winner>& shipped_winners();

// The shipped winners that match. The pointers stay valid until the process ends.
[[nodiscard]] std::vector<const Winner*> shipped_winners(const ResultFilter& filter);

}  // namespace autotune
