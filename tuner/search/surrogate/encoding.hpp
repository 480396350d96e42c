// Configurations as points whose distances a model can use. The names of parameters do not matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "autotune/configuration.hpp"

namespace autotune {

// Each parameter that varies is a coordinate from 0 to 1: the value's logarithm where the values
// span several octaves (tile sizes), otherwise the value's rank.
class Encoding {
 public:
  explicit Encoding(const std::vector<Configuration>& configurations);

  [[nodiscard]] std::size_t dimensions() const { return parameters_.size(); }
  // Writes dimensions() coordinates.
  void write(const Configuration& configuration, float* coordinates) const;

 private:
  struct Parameter {
    std::size_t entry;                 // its place in a configuration
    std::vector<std::int64_t> values;  // the values that occur, ascending
    std::vector<float> coordinates;    // of the values
  };
  std::vector<Parameter> parameters_;
};

}  // namespace autotune
