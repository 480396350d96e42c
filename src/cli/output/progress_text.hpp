// The progress of long work as one line.
#pragma once

#include <cstddef>
#include <string>

#include "tuner/run/report.hpp"

namespace autotune {

// At most `columns` wide: phase, bar, time left, the best rate of each size, trials and failures.
// What does not fit is left out, from the end. The bar is filled by trials or by time, whichever is
// further.
[[nodiscard]] std::string progress_text(const TuneProgress& progress, std::size_t columns);

}  // namespace autotune
