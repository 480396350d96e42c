#include "core/time_text.hpp"

#include <fmt/format.h>

namespace autotune {

std::string time_text(double us) {
  constexpr double kSecond = 1e6;
  constexpr double kManySeconds = 1e6;
  if (us < kMostMicroseconds) return fmt::format("{:.1f} us", us);
  if (us < kSecond) return fmt::format("{:.1f} ms", 1e-3 * us);
  const double seconds = us / kSecond;
  return seconds < kManySeconds ? fmt::format("{:.2f} s", seconds)
                                : fmt::format("{:.1e} s", seconds);
}

}  // namespace autotune
