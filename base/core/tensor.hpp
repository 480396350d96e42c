// The tensors of a problem.
#pragma once

#include <cstdint>
#include <string>

#include "core/element_type.hpp"

namespace autotune {

enum class TensorRole : std::uint8_t {
  input,   // only read
  output,  // only written, every element of it
  inout,   // has data before a launch, and other data after it
};
inline constexpr auto kLastTensorRole = TensorRole::inout;

[[nodiscard]] constexpr bool is_written(TensorRole role) {
  return role != TensorRole::input;
}
[[nodiscard]] constexpr bool is_read(TensorRole role) {
  return role != TensorRole::output;
}

// A tensor as it lies in memory: `matrices` times `rows` rows of `columns` contiguous elements. In
// a matrix with more extents, the product of all extents except the last one is the number of rows.
struct TensorDesc {
  std::string name;
  TensorRole role = TensorRole::input;
  ElementType type = ElementType::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;  // elements from one row to the next; columns where nothing pads it
  std::int64_t matrices = 1;    // of a batch
  std::int64_t matrix_stride = 0;  // elements from one matrix to the next

  [[nodiscard]] std::int64_t matrix_elements() const { return rows * columns; }
  [[nodiscard]] std::int64_t elements() const { return matrices * matrix_elements(); }
  // The bytes of all elements as a number that has no overflow.
  [[nodiscard]] double volume() const {
    return static_cast<double>(matrices) * static_cast<double>(rows) *
           static_cast<double>(columns) * static_cast<double>(size_bytes(type));
  }
  // The elements of memory from the first matrix on to where one behind the last would begin.
  [[nodiscard]] std::int64_t placed_elements() const {
    return matrices == 1 ? matrix_elements() : matrices * matrix_stride;
  }
  [[nodiscard]] std::int64_t bytes() const { return elements() * size_bytes(type); }

  bool operator==(const TensorDesc&) const = default;
};

}  // namespace autotune
