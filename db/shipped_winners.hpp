// The winners that ship with the program: db/tuned/*.jsonl, embedded at build time.
#pragma once

#include <string>
#include <vector>

#include "core/winner.hpp"

namespace autotune {

// All of them, or those of one device label (matched without regard to case) or silicon class when
// these are not empty. Throws Error when an embedded line does not parse (a test reads them all).
[[nodiscard]] std::vector<Winner> shipped_winners(const std::string& device_class,
                                                  const std::string& device_label);

}  // namespace autotune
