// The properties of the types that elements of tensors have.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "autotune/element_type.hpp"

namespace autotune {

// The properties of a type.
struct ElementTypeInfo {
  ElementType type;
  const char* name;  // in keys and on the command line: "f32"
  std::int64_t size_bytes;
  double unit_roundoff;    // the largest relative error of rounding a number to the type; of
                           // integers 0, since results are exact
  const char* cuda_name;   // "float"
  const char* numpy_name;  // in .npy files, without the order of bytes: "f4"
};

// All types, in the order of their numbers.
inline constexpr std::array kElementTypes = {
    ElementTypeInfo{ElementType::f32, "f32", 4, 0x1p-24, "float", "f4"},
    ElementTypeInfo{ElementType::f64, "f64", 8, 0x1p-53, "double", "f8"},
    ElementTypeInfo{ElementType::bf16, "bf16", 2, 0x1p-8, "__nv_bfloat16", "V2"},
    ElementTypeInfo{ElementType::f16, "f16", 2, 0x1p-11, "__half", "f2"},
    ElementTypeInfo{ElementType::i32, "i32", 4, 0, "int", "i4"},
    ElementTypeInfo{ElementType::i8, "i8", 1, 0, "signed char", "i1"},
    ElementTypeInfo{ElementType::u8, "u8", 1, 0, "unsigned char", "u1"},
    ElementTypeInfo{ElementType::i16, "i16", 2, 0, "short", "i2"},
    ElementTypeInfo{ElementType::u16, "u16", 2, 0, "unsigned short", "u2"},
    ElementTypeInfo{ElementType::i64, "i64", 8, 0, "long long", "i8"},
    ElementTypeInfo{ElementType::u64, "u64", 8, 0, "unsigned long long", "u8"},
};

[[nodiscard]] constexpr bool is_known(ElementType type) {
  return static_cast<std::size_t>(type) < kElementTypes.size();
}
[[noreturn]] void refuse_element_type(ElementType type);

// Throws Error for a type that is not in the table.
[[nodiscard]] constexpr const ElementTypeInfo& info(ElementType type) {
  if (!is_known(type)) refuse_element_type(type);
  return kElementTypes[static_cast<std::size_t>(type)];
}
[[nodiscard]] std::string to_string(ElementType type);
// Throws UsageError for a name that is not in the table.
[[nodiscard]] ElementType element_type_from_string(std::string_view name);

[[nodiscard]] constexpr std::int64_t size_bytes(ElementType type) {
  return info(type).size_bytes;
}

[[nodiscard]] inline bool is_integer(ElementType type) {
  return info(type).unit_roundoff == 0;
}

[[nodiscard]] inline bool is_unsigned(ElementType type) {
  return info(type).numpy_name[0] == 'u';
}

// Read the value of an element (of an integer of 64 bits the nearest FP64 number), and store the element nearest to a value (ties to even), at an
// address that is aligned for the type. An integer type takes the nearest integer that it has.
[[nodiscard]] double load_element(ElementType type, const void* element);
void store_element(ElementType type, void* element, double value);
// An element for messages: an integer with all of its digits.
[[nodiscard]] std::string element_text(ElementType type, const void* element);

}  // namespace autotune
