// The part of a template's space that a request asks for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// The part of a template's space that is searched. Empty: all of it.
struct SpaceFilter {
  // "16", "32": allowed tile widths. "4" allows every product 4; "2x2" one shape.
  std::vector<std::int64_t> tile_widths;
  std::vector<std::int64_t> results_per_thread;
  std::vector<std::pair<std::int64_t, std::int64_t>> result_shapes;
  std::vector<std::int64_t> unrolls;  // kFullUnroll: the trip count
  static constexpr std::int64_t kFullUnroll = -1;
  // Allowed values of a template's own parameters. A template without one of them is left out.
  std::map<std::string, std::vector<std::int64_t>> only;
  // The 1st of 4 parts and the like, the same on every machine, which together are the space.
  std::int64_t shard = 1;
  std::int64_t shards = 1;

  [[nodiscard]] bool empty() const;
  // The filter as a constraint named "filter".
  [[nodiscard]] Constraint constraint(const KernelTemplate& kernel) const;
  // Canonical text, part of a request's key.
  [[nodiscard]] std::string text() const;
};

}  // namespace autotune
