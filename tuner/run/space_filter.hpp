// The part of a template's space that a request asks for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernel_templates/kernel_template.hpp"

namespace autotune {

// The part of a template's space that is searched. An empty filter stands for the whole space.
struct SpaceFilter {
  // The allowed tile widths, and the allowed results per thread: "4" stands for every shape with
  // this product, "2x2" for one shape.
  std::vector<std::int64_t> tile_widths;
  std::vector<std::int64_t> results_per_thread;
  std::vector<std::pair<std::int64_t, std::int64_t>> result_shapes;
  std::vector<std::int64_t> unrolls;  // kFullUnroll stands for the loop's trip count
  static constexpr std::int64_t kFullUnroll = -1;
  // The allowed values of a template's own parameters. A template that lacks one of these
  // parameters is left out.
  std::map<std::string, std::vector<std::int64_t>> only;
  // The number of the part that is searched, such as 1 of 4. The parts are the same on every
  // machine, and together they are the space.
  std::int64_t shard = 1;
  std::int64_t shards = 1;

  [[nodiscard]] bool empty() const;
  // Returns whether it asks for tile shapes. A template without them then has no configurations.
  [[nodiscard]] bool names_shapes() const;
  // The filter as a constraint named "filter".
  [[nodiscard]] Constraint constraint(const KernelTemplate& kernel) const;
  // The filter as canonical text, which is a part of a request's key.
  [[nodiscard]] std::string text() const;
};

}  // namespace autotune
