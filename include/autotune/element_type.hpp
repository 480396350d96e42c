// The types of the elements of matrices.
#pragma once

#include <cstdint>

namespace autotune {

// TF32 is a way to multiply f32 (Math::tf32), not a type of elements.
// Buffers of 32-bit integers are i32, with or without a sign.
enum class ElementType : std::uint8_t {
  f32 = 0,
  f64 = 1,
  bf16 = 2,
  f16 = 3,
  i32 = 4,
  i8 = 5,
  u8 = 6,
  i16 = 7,
  u16 = 8,
  i64 = 9,
  u64 = 10,
};

// The types of a product's matrices, and of the sums before they are rounded to the type of C.
struct GemmTypes {
  ElementType a = ElementType::f32;
  ElementType b = ElementType::f32;
  ElementType c = ElementType::f32;
  ElementType accumulate = ElementType::f32;

  friend bool operator==(const GemmTypes& x, const GemmTypes& y) {
    return x.a == y.a && x.b == y.b && x.c == y.c && x.accumulate == y.accumulate;
  }
  friend bool operator!=(const GemmTypes& x, const GemmTypes& y) { return !(x == y); }
  friend bool operator<(const GemmTypes& x, const GemmTypes& y) { return x.number() < y.number(); }

  // A number that differs for different types.
  [[nodiscard]] std::uint32_t number() const {
    return static_cast<std::uint32_t>(a) << 24 | static_cast<std::uint32_t>(b) << 16 |
           static_cast<std::uint32_t>(c) << 8 | static_cast<std::uint32_t>(accumulate);
  }
};

}  // namespace autotune
