// The options that choose a part of the search space: --template, --tile-width,
// --results-per-thread, --unroll, --only, --shard.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel_templates/kernel_template.hpp"
#include "tuner/tuner.hpp"

namespace autotune {

struct SpaceOptions {
  std::string templates;           // names with commas between them; empty: all
  std::string tile_width;          // "16,32"
  std::string results_per_thread;  // "4,2x8"
  std::string unroll;              // "4,full"
  std::string only;                // "STAGES=2,STAGES=3,SPLIT_K=1"
  std::string shard;               // "2/8"

  // Throw UsageError for what is wrong, a value that no template has included.
  [[nodiscard]] std::vector<const KernelTemplate*> chosen_templates() const;
  [[nodiscard]] SpaceFilter filter() const;
};

// The template of commands that look at one: gemm_tiled where none is named. Throws UsageError.
[[nodiscard]] const KernelTemplate& single_template(const std::string& name);

// The plainest of the configurations that a filter leaves: the squarest results of a thread, at
// equal product the fewer of them along M, and the values that the space lists first. nullopt when
// the filter leaves none.
[[nodiscard]] std::optional<Configuration> plainest_configuration(const KernelTemplate& kernel,
                                                                  const SpaceFilter& filter);

}  // namespace autotune
