// The properties of the types that elements of tensors have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "autotune/element_type.hpp"

namespace autotune {

// The properties of a type: one row of the table in element_type.cpp.
struct ElementTypeInfo {
  ElementType type;
  const char* name;  // in keys and on the command line: "f32"
  std::int64_t size_bytes;
  double unit_roundoff;   // the largest relative error of rounding a number to the type; of
                          // integers 0, since results are exact
  const char* cuda_name;  // "float"
};

[[nodiscard]] const ElementTypeInfo& info(ElementType type);
[[nodiscard]] std::string to_string(ElementType type);
// Throws UsageError for a name that is not in the table.
[[nodiscard]] ElementType element_type_from_string(std::string_view name);

[[nodiscard]] inline std::int64_t size_bytes(ElementType type) {
  return info(type).size_bytes;
}

[[nodiscard]] inline bool is_integer(ElementType type) {
  return info(type).unit_roundoff == 0;
}

// Read the value of an element, and store the element nearest to a value (ties to even), at an
// address that is aligned for the type. An integer type must have the value in its range.
[[nodiscard]] double load_element(ElementType type, const void* element);
void store_element(ElementType type, void* element, double value);

}  // namespace autotune
