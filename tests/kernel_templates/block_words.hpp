// The words of memory that a block accesses according to its template's warp_accesses.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "kernel_templates/kernel_template.hpp"

namespace autotune::test {

// The number of accesses to each word of 4 bytes.
using WordCounts = std::map<std::int64_t, int>;

// By the accesses' name, for all warps of a block.
inline std::map<std::string, WordCounts> words_by_name(const KernelTemplate& kernel,
                                                       const Configuration& configuration,
                                                       const Problem& problem) {
  std::map<std::string, WordCounts> words;
  const std::int64_t warps = kernel.geometry(configuration, problem).threads() / 32;
  for (std::int64_t warp = 0; warp < warps; ++warp) {
    for (const WarpAccess& access : kernel.warp_accesses(configuration, problem, warp)) {
      for (const std::int64_t offset : access.offsets) {
        CHECK(offset % access.bytes_per_lane == 0);
        for (std::int64_t e = 0; e < access.bytes_per_lane / 4; ++e) {
          ++words[access.name][offset / 4 + e];
        }
      }
    }
  }
  return words;
}

inline bool all_once(const WordCounts& counts) {
  return std::all_of(counts.begin(), counts.end(), [](const auto& c) { return c.second == 1; });
}

}  // namespace autotune::test
