// The values of one parameter of a recorded space, as ordered whole numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tuner/replay/recorded_result.hpp"

namespace autotune {

// All values are added, then ranked, before the first is asked for. Where all are whole numbers up
// to 2^53 (or true and false), each stands for itself. Otherwise each is its rank: numbers by size,
// then all other values in the order of their first appearance.
class ParameterValues {
 public:
  void add(const OrderedJson& value);
  void rank();
  [[nodiscard]] std::int64_t number(const OrderedJson& value) const;

 private:
  bool all_small_ = true;
  std::map<long double, std::int64_t> numbers_;  // with their ranks
  std::map<std::string, std::int64_t> texts_;    // with their order of appearance
};

}  // namespace autotune
