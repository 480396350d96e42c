// The values of one parameter of a recorded space, as ordered whole numbers.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tuner/replay/recorded_result.hpp"

namespace autotune {

// All values are added before the first is asked for. Where all are whole numbers (or true and
// false), each stands for itself. Otherwise each is its rank: numbers by size, then all other
// values in the order of their first appearance.
class ParameterValues {
 public:
  void add(const OrderedJson& value);
  [[nodiscard]] std::int64_t number(const OrderedJson& value) const;

 private:
  bool all_whole_ = true;
  std::set<double> numbers_;
  std::map<std::string, std::int64_t> texts_;  // with their order of appearance
};

}  // namespace autotune
