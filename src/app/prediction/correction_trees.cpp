#include "prediction/correction_trees.hpp"

namespace autotune {

// All candidates go through a tree together, so that the compiler can use vector instructions.
std::vector<double> CorrectionTrees::predict(const FeatureTable& table) const {
  std::vector<double> sums(table.candidates(), bias);
  std::vector<std::uint32_t> leaf(table.candidates());
  const float* of_tree = leaves.data();
  for (std::size_t first = 0; first < asked.size(); first += depth) {
    leaf.assign(leaf.size(), 0);
    for (std::size_t level = 0; level < depth; ++level) {
      const std::span<const float> row = table.row(asked[first + level]);
      const float threshold = thresholds[first + level];
      const std::uint32_t bit = std::uint32_t{1} << level;
      for (std::size_t i = 0; i < leaf.size(); ++i) leaf[i] |= row[i] > threshold ? bit : 0;
    }
    for (std::size_t i = 0; i < leaf.size(); ++i) sums[i] += static_cast<double>(of_tree[leaf[i]]);
    of_tree += std::size_t{1} << depth;
  }
  return sums;
}

}  // namespace autotune
