// Times for people.
#pragma once

#include <string>

namespace autotune {

// Up to this many microseconds a time is given in them.
inline constexpr double kMostMicroseconds = 1e5;

// "322.6 us", "180.4 ms", "18.10 s"; "1.2e+06 s" from there on.
[[nodiscard]] std::string time_text(double us);

}  // namespace autotune
