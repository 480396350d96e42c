// Whether matrices that lie between each other in memory have elements in common.
#pragma once

#include <array>
#include <cstdint>

namespace autotune {

// Runs of elements that follow each other, repeated in two dimensions: the lines of a matrix, and
// the matrices of a batch. All together they reach over at most 2^60 elements.
struct ElementRuns {
  struct Repeat {
    std::int64_t count = 1;  // 1 at least
    std::int64_t step = 0;   // elements from one to the next
  };

  std::int64_t length = 1;  // 1 at least
  std::array<Repeat, 2> repeats = {};
};

// Returns whether two sets of runs have an element in common, the second beginning `distance`
// elements behind the first. The answer is exact for matrices, and for batches unless their steps
// differ so much that it would take long to find: then it is true.
[[nodiscard]] bool may_overlap(const ElementRuns& first, const ElementRuns& second,
                               std::int64_t distance);

}  // namespace autotune
