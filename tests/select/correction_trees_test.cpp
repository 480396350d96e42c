// The sums of trees, against a walk down each tree for each candidate.
#include "select/correction_trees.hpp"

#include <random>

#include <doctest/doctest.h>

namespace autotune::test {
namespace {

TEST_SUITE("correction trees") {
  TEST_CASE("a candidate's answers are the bits of its leaf's index, the first one the lowest") {
    constexpr std::size_t kTrees = 20;
    constexpr std::size_t kFeatures = 5;
    std::mt19937 random(1);
    // A value may be equal to a threshold, and trees have questions in common.
    const auto number = [&](unsigned most) { return static_cast<float>(random() % most); };
    std::vector<std::uint16_t> features;
    std::vector<float> thresholds;
    std::vector<float> leaves;
    for (std::size_t i = 0; i < kTrees * CorrectionTrees::kDepth; ++i) {
      features.push_back(static_cast<std::uint16_t>(random() % kFeatures));
      thresholds.push_back(number(8));
    }
    for (std::size_t i = 0; i < kTrees * CorrectionTrees::kLeaves; ++i) {
      leaves.push_back(number(1000) / 1000);
    }
    const CorrectionTrees trees(0.5, features, thresholds, leaves);
    for (const std::size_t candidates : {0, 1, 8, 67}) {
      CAPTURE(candidates);
      FeatureTable table(kFeatures, candidates);
      for (std::size_t feature = 0; feature < kFeatures; ++feature) {
        for (float& value : table.row(feature)) value = number(9);
      }
      std::vector<double> sums;
      for (std::size_t one = 0; one < candidates; ++one) {
        double sum = 0.5;
        for (std::size_t tree = 0; tree < kTrees; ++tree) {
          std::size_t leaf = 0;
          for (std::size_t level = 0; level < CorrectionTrees::kDepth; ++level) {
            const std::size_t i = tree * CorrectionTrees::kDepth + level;
            if (table.row(features[i])[one] > thresholds[i]) leaf += std::size_t{1} << level;
          }
          sum += static_cast<double>(leaves[tree * CorrectionTrees::kLeaves + leaf]);
        }
        sums.push_back(sum);
      }
      CHECK(trees.predict(table) == sums);
    }
  }
}

}  // namespace
}  // namespace autotune::test
