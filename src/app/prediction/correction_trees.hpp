// The correction of the cost model's times that measured times teach: gradient-boosted trees over
// the features of a candidate. benchmarks/prediction/portfolio.py fits them (docs/prediction.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace autotune {

// A row for each feature, a column for each candidate.
class FeatureTable {
 public:
  FeatureTable(std::size_t features, std::size_t candidates)
      : candidates_(candidates), values_(features * candidates) {}

  [[nodiscard]] std::size_t candidates() const { return candidates_; }
  [[nodiscard]] std::span<const float> row(std::size_t feature) const {
    return {values_.data() + feature * candidates_, candidates_};
  }
  float& at(std::size_t feature, std::size_t candidate) {
    return values_[feature * candidates_ + candidate];
  }

 private:
  std::size_t candidates_;
  std::vector<float> values_;
};

// Oblivious trees as CatBoost makes them (L. Prokhorenkova et al., CatBoost: unbiased boosting with
// categorical features, NeurIPS 2018): all nodes of a level ask the same question, so that the
// answers of a tree are the bits of its leaf's index, the first one the lowest.
struct CorrectionTrees {
  std::size_t depth = 0;  // questions of a tree
  double bias = 0;
  std::vector<std::uint16_t> asked;  // the feature of each question, tree by tree
  std::vector<float> thresholds;     // of each question; the answer is 1 above it
  std::vector<float> leaves;         // 2^depth for each tree

  // log(microseconds / cycles) of each candidate.
  [[nodiscard]] std::vector<double> predict(const FeatureTable& table) const;
};

}  // namespace autotune
