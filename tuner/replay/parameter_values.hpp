// The values of one parameter of a recorded space as whole numbers that are in order.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tuner/replay/recorded_result.hpp"

namespace autotune {

// First all values are added, then asked for. Where all are whole numbers (or true and false), each
// stands for itself. Else each is its rank: numbers by size, then texts that are no numbers, and
// whatever else there is, in the order of their first appearance.
class ParameterValues {
 public:
  void add(const OrderedJson& value);
  [[nodiscard]] std::int64_t number(const OrderedJson& value) const;

 private:
  bool all_whole_ = true;
  std::set<double> numbers_;
  std::map<std::string, std::int64_t> texts_;  // with the place of their appearance
};

}  // namespace autotune
