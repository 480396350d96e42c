// The correction of the cost model's times that measured times teach: gradient-boosted trees over
// the features of a candidate. benchmarks/prediction/portfolio.py fits them (docs/prediction.md).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace autotune {

// A row for each feature, a column for each candidate.
class FeatureTable {
 public:
  // Rows are as long as the next multiple of this.
  static constexpr std::size_t kLanes = 8;

  FeatureTable(std::size_t features, std::size_t candidates)
      : candidates_(candidates),
        width_((candidates + kLanes - 1) / kLanes * kLanes),
        values_(features * width_) {}

  [[nodiscard]] std::size_t candidates() const { return candidates_; }
  [[nodiscard]] std::span<const float> row(std::size_t feature) const {
    return {values_.data() + feature * width_, width_};
  }
  [[nodiscard]] std::span<float> row(std::size_t feature) {
    return {values_.data() + feature * width_, width_};
  }

 private:
  std::size_t candidates_;
  std::size_t width_;
  std::vector<float> values_;
};

// Oblivious trees as CatBoost makes them (L. Prokhorenkova et al., CatBoost: unbiased boosting with
// categorical features, NeurIPS 2018): all nodes of a level ask the same question, so that the
// answers of a tree are the bits of its leaf's index, the first one the lowest.
class CorrectionTrees {
 public:
  static constexpr std::size_t kDepth = 6;  // questions of a tree, as portfolio.py fits it
  static constexpr std::size_t kLeaves = std::size_t{1} << kDepth;

  CorrectionTrees() = default;
  // Tree by tree, the feature and the threshold of each question, whose answer is 1 above it, and
  // the leaves.
  CorrectionTrees(double bias, const std::vector<std::uint16_t>& features,
                  const std::vector<float>& thresholds, std::vector<float> leaves);

  [[nodiscard]] bool empty() const { return leaves_.empty(); }

  // log(microseconds / cycles) of each candidate.
  [[nodiscard]] std::vector<double> predict(const FeatureTable& table) const;

 private:
  struct Question {
    std::uint16_t feature = 0;
    float threshold = 0;
    auto operator<=>(const Question&) const = default;
  };

  double bias_ = 0;
  std::vector<Question> questions_;   // each once: trees have many in common
  std::vector<std::uint32_t> asked_;  // their indices, tree by tree
  std::vector<float> leaves_;
};

}  // namespace autotune
