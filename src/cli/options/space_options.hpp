// Reads and checks the options that choose a part of the search space.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernel_templates/kernel_set.hpp"
#include "tuner/run/space_filter.hpp"

namespace autotune {

// The templates of a list of names, "gemm_tiled,gemm_simt". Throws UsageError for an unknown name.
[[nodiscard]] std::vector<const KernelTemplate*> parse_templates(const std::string& names,
                                                                 const KernelSet& kernels);

// Returns the given template, else gemm_tiled, which the set has.
[[nodiscard]] const KernelTemplate& template_or_default(const KernelTemplate* given,
                                                        const KernelSet& kernels);

// Throws UsageError for a value of the filter that none of the templates has.
void check_filter(const SpaceFilter& filter, const std::vector<const KernelTemplate*>& templates);

// The values that a template's configurations have, without zeros.
struct ShapeValues {
  std::set<std::int64_t> tile_widths;
  std::set<std::int64_t> results_per_thread;
  std::set<std::int64_t> unrolls;
};
[[nodiscard]] ShapeValues shape_values(const std::vector<const KernelTemplate*>& templates);

// The plainest of the configurations that a filter and further constraints leave: the squarest
// results of a thread, at equal product the fewer of them along M, and the values that the space
// lists first. nullopt when none is left.
[[nodiscard]] std::optional<Configuration> plainest_configuration(
    const KernelTemplate& kernel, const SpaceFilter& filter,
    std::vector<Constraint> constraints = {});

}  // namespace autotune
