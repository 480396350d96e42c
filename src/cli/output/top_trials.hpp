// The fastest stored trials of each size: `query --top`, `db top`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "db/tuning_database.hpp"

namespace autotune {

// Trials of a device and of one template (empty: of all) on the sizes, in the layout and the
// arithmetic of the options, or without sizes on all problems: for each device and problem the
// fastest `count`, the fastest first.
[[nodiscard]] std::vector<StoredTrial> top_trials(const Options& options,
                                                  const TuningDatabase& database,
                                                  const ResultFilter& device,
                                                  const std::string& template_name,
                                                  std::size_t count);

// Prints the trials as a table, or as a document or CSV where the options say so.
void print_top_trials(const Options& options, const std::vector<StoredTrial>& trials,
                      const std::string& command);

}  // namespace autotune
