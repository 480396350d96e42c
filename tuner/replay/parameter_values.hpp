// The values of one parameter of a recorded space, as ordered whole numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tuner/replay/recorded_result.hpp"

namespace autotune {

// All values are added, then numbered. Where all are whole numbers up to 2^53 (or true and false),
// each stands for itself. Otherwise each is its rank: numbers by size, then all other values in the
// order of their first appearance.
class ParameterValues {
 public:
  // Returns the value's place: equal values have the same, and the first one has 0.
  std::uint32_t add(const OrderedJson& value);
  // The number of the value at each place.
  [[nodiscard]] std::vector<std::int64_t> numbers() const;
  // What each rank stands for; empty where the values stand for themselves.
  [[nodiscard]] std::vector<std::string> ranked() const;

 private:
  // The places of texts in their order of appearance, with the texts.
  [[nodiscard]] std::map<std::uint32_t, std::string> texts_in_order() const;

  bool all_small_ = true;
  // With their places.
  std::map<long double, std::uint32_t> numbers_;
  std::map<std::string, std::uint32_t> texts_;
};

}  // namespace autotune
