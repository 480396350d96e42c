// The winners that ship with the program: db/tuned/*.jsonl, embedded at build time.
#pragma once

#include <vector>

#include "core/winner.hpp"
#include "db/result_filter.hpp"

namespace autotune {

// The shipped winners that match; an empty filter stands for all. A winner is parsed when it first
// matches, and the pointer to it stays valid until the process ends. Throws Error when an embedded
// line does not parse (a test reads them all). Thread-safe.
[[nodiscard]] std::vector<const Winner*> shipped_winners(const ResultFilter& filter);

// The problems of the shipped winners that match, one for each winner. Parses no winner.
[[nodiscard]] std::vector<Problem> shipped_problems(const ResultFilter& filter);

}  // namespace autotune
