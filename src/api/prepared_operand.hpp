// An operand that was prepared for many products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "autotune/element_type.hpp"

namespace autotune {

// A matrix as a kernel sees it: rows of op(A), or columns of op(B), along K.
struct OperandPlace {
  const void* data = nullptr;
  ElementType type = ElementType::f32;
  std::int64_t ld = 0;
  std::int64_t rows = 0;
  std::int64_t k = 0;
  bool k_major = false;  // the elements of a row lie side by side

  friend bool operator==(const OperandPlace& a, const OperandPlace& b) {
    return a.data == b.data && a.type == b.type && a.ld == b.ld && a.rows == b.rows && a.k == b.k &&
           a.k_major == b.k_major;
  }
};

// Immutable. The backend's own type frees the memory.
struct PreparedOperand {
  virtual ~PreparedOperand() = default;

  OperandPlace place;
  std::string kernel;  // the template whose form it has; empty: none
  std::uint64_t context = 0;
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  std::shared_ptr<const void> owner;  // the inside of its Library
};

}  // namespace autotune
