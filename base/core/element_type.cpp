#include "core/element_type.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

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

template <typename T>
T nearest_integer(double value) {
  using Limits = std::numeric_limits<T>;
  const double rounded = std::nearbyint(value);
  // The largest integer of 64 bits is rounded up as an FP64 number, which is beyond the range.
  if (!(rounded < static_cast<double>(Limits::max()))) return Limits::max();
  return rounded <= static_cast<double>(Limits::min()) ? Limits::min() : static_cast<T>(rounded);
}

// Calls `use` with a value of the C++ type that an integer type stands for.
template <typename Use>
auto with_integer_type(ElementType type, const Use& use) {
  switch (type) {
    case ElementType::i8:
      return use(std::int8_t{});
    case ElementType::u8:
      return use(std::uint8_t{});
    case ElementType::i16:
      return use(std::int16_t{});
    case ElementType::u16:
      return use(std::uint16_t{});
    case ElementType::i32:
      return use(std::int32_t{});
    case ElementType::i64:
      return use(std::int64_t{});
    case ElementType::u64:
      return use(std::uint64_t{});
    default:
      refuse_element_type(type);
  }
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
    default:
      return with_integer_type(
          type, [&](auto zero) { return static_cast<double>(bits_of<decltype(zero)>(element)); });
  }
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
    default:
      return with_integer_type(
          type, [&](auto zero) { put(element, nearest_integer<decltype(zero)>(value)); });
  }
}

std::string element_text(ElementType type, const void* element) {
  if (!is_integer(type)) return fmt::format("{:.9g}", load_element(type, element));
  return with_integer_type(
      type, [&](auto zero) { return std::to_string(bits_of<decltype(zero)>(element)); });
}

}  // namespace autotune
