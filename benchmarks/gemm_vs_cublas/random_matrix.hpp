// Random data for benchmarks: the same for the same seed.
#pragma once

#include <cstdint>
#include <vector>

namespace autotune {

// Uniform in (low, high), from the SplitMix64 generator (Steele, Lea and Flood, OOPSLA 2014).
inline std::vector<float> random_matrix(std::size_t elements, float low, float high,
                                        std::uint64_t seed) {
  std::vector<float> values(elements);
  std::uint64_t state = seed * 0x9E3779B97F4A7C15u;
  for (float& value : values) {
    state += 0x9E3779B97F4A7C15u;
    std::uint64_t mixed = (state ^ state >> 30) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
    const auto unit = (static_cast<float>((mixed ^ mixed >> 31) >> 41) + 0.5F) / 8388608.0F;
    value = low + (high - low) * unit;
  }
  return values;
}

}  // namespace autotune
