#include "core/element_type.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "autotune/error.hpp"

namespace autotune {
namespace {

template <typename T>
T bits_of(const void* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

template <typename T>
void put(void* element, T value) {
  std::memcpy(element, &value, sizeof value);
}

float from_f16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  float magnitude = 0;
  if (exponent == 0x1f) {
    magnitude = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// The value is scaled so that neighbouring FP16 numbers are 1 apart; the default rounding mode then
// rounds it to the nearest one, ties to even.
std::uint16_t to_f16(double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double magnitude = std::fabs(value);
  const auto with_sign = [&](int bits) { return static_cast<std::uint16_t>(sign | bits); };
  if (std::isnan(value)) return with_sign(0x7e00);
  if (magnitude >= 65520) return with_sign(0x7c00);
  const int exponent = std::max(std::ilogb(magnitude == 0 ? 1e-30 : magnitude), -14);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // A carry into the next power of two is a carry into the exponent's bits.
  return with_sign(((exponent + 14) << 10) + steps);
}

std::uint16_t to_bf16(double value) {
  if (std::isnan(value)) return 0x7fc0;
  // The FP32 value in between is rounded to odd, so that rounding twice gives the same result as
  // rounding once.
  const auto nearest = static_cast<float>(value);
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  if (static_cast<double>(nearest) != value) bits |= 1;
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace

void refuse_element_type(ElementType type) {
  throw Error("unknown element type " + std::to_string(static_cast<int>(type)));
}

std::string to_string(ElementType type) {
  return info(type).name;
}

ElementType element_type_from_string(std::string_view name) {
  std::string known;
  for (const ElementTypeInfo& one : kElementTypes) {
    if (one.name == name) return one.type;
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  throw UsageError("element type '" + std::string(name) + "' is unknown: use one of " + known);
}

double load_element(ElementType type, const void* element) {
  switch (type) {
    case ElementType::f64:
      return bits_of<double>(element);
    case ElementType::f32:
      return static_cast<double>(bits_of<float>(element));
    case ElementType::bf16:
      return static_cast<double>(
          std::bit_cast<float>(std::uint32_t{bits_of<std::uint16_t>(element)} << 16));
    case ElementType::f16:
      return static_cast<double>(from_f16(bits_of<std::uint16_t>(element)));
    case ElementType::i32:
      return static_cast<double>(bits_of<std::int32_t>(element));
  }
  throw Error("unknown element type");
}

void store_element(ElementType type, void* element, double value) {
  switch (type) {
    case ElementType::f64:
      return put(element, value);
    case ElementType::f32:
      return put(element, static_cast<float>(value));
    case ElementType::bf16:
      return put(element, to_bf16(value));
    case ElementType::f16:
      return put(element, to_f16(value));
    case ElementType::i32:
      return put(element, static_cast<std::int32_t>(std::nearbyint(value)));
  }
}

}  // namespace autotune
