#include "select/correction_trees.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace autotune {

CorrectionTrees::CorrectionTrees(double bias, const std::vector<std::uint16_t>& features,
                                 const std::vector<float>& thresholds, std::vector<float> leaves)
    : bias_(bias), leaves_(std::move(leaves)) {
  std::vector<Question> all;
  for (std::size_t i = 0; i < features.size(); ++i) all.push_back({features[i], thresholds[i]});
  questions_ = all;
  std::ranges::sort(questions_);
  questions_.erase(std::unique(questions_.begin(), questions_.end()), questions_.end());
  for (const Question& question : all) {
    const auto found = std::lower_bound(questions_.begin(), questions_.end(), question);
    asked_.push_back(static_cast<std::uint32_t>(found - questions_.begin()));
  }
}

// Each question is answered once, and a byte holds the answer of a candidate, so that sums of words
// give the leaves of kLanes candidates at a time.
std::vector<double> CorrectionTrees::predict(const FeatureTable& table) const {
  using Word = std::uint64_t;
  using Bytes = std::array<std::uint8_t, FeatureTable::kLanes>;
  static_assert(sizeof(Word) == sizeof(Bytes) && kDepth <= 8);
  if (table.candidates() == 0) return {};
  const std::size_t width = table.row(0).size();
  const std::size_t words = width / sizeof(Word);
  std::vector<Word> answers(questions_.size() * words);
  auto* answer = reinterpret_cast<std::uint8_t*>(answers.data());
  for (const auto& [feature, threshold] : questions_) {
    for (const float value : table.row(feature)) *answer++ = value > threshold ? 1 : 0;
  }
  std::vector<double> sums(width, bias_);
  const float* of_tree = leaves_.data();
  for (std::size_t first = 0; first < asked_.size(); first += kDepth) {
    std::array<const Word*, kDepth> levels;
    for (std::size_t i = 0; i < kDepth; ++i) levels[i] = &answers[asked_[first + i] * words];
    double* sum = sums.data();
    for (std::size_t word = 0; word < words; ++word) {
      Word leaf = 0;
      for (std::size_t i = kDepth; i-- > 0;) leaf = 2 * leaf + levels[i][word];
      for (const std::uint8_t one : std::bit_cast<Bytes>(leaf)) {
        *sum++ += static_cast<double>(of_tree[one]);
      }
    }
    of_tree += kLeaves;
  }
  sums.resize(table.candidates());
  return sums;
}

}  // namespace autotune
