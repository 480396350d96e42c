// Search spaces whose every configuration was measured before, read from files: what strategies are
// replayed over.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/trial.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {

// The configurations of one problem and what became of each. Values of parameters that are no whole
// numbers are replaced by their rank: numbers by size, texts in the order of their appearance.
struct RecordedSpace {
  std::string name;                // "2048x2048x2048 gemm_simt on NVIDIA H200"; else the file's
  std::optional<Problem> problem;  // of recordings of this program
  std::string template_name;       // likewise
  std::string device;              // likewise
  std::vector<Configuration> configurations;
  std::vector<Trial> trials;  // of the configuration at the same place, the last of several
  std::size_t correct = 0;    // trials that are ok
  double best_us = 0;         // the fastest of them; in the recording's unit where that is no time
};

// What a search of `space` would be given: empty but for a template and a device that this program
// knows. Valid as long as `space`.
[[nodiscard]] Prior prior_for(const RecordedSpace& space);

// Reads T4 results, cache files of Kernel Tuner and what `db export` writes, plain or compressed
// with zstd. Throws UsageError that names the file: absent, none of these, a space without a
// correct configuration.
[[nodiscard]] std::vector<RecordedSpace> read_recorded_spaces(const std::string& path);

}  // namespace autotune
