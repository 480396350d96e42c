// The tensors of a problem.
#pragma once

#include <cstdint>
#include <string>

#include "core/element_type.hpp"

namespace autotune {

enum class TensorRole : std::uint8_t { input, output };

// A tensor as it lies in memory: `rows` rows of `columns` contiguous elements. In a tensor with
// more extents, the product of all extents except the last one is the number of rows.
struct TensorDesc {
  std::string name;
  TensorRole role = TensorRole::input;
  ElementType type = ElementType::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;  // elements from one row to the next; columns where nothing pads it

  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
  [[nodiscard]] std::int64_t bytes() const { return elements() * size_bytes(type); }
};

}  // namespace autotune
