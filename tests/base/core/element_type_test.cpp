#include "core/element_type.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

using autotune::ElementType;

namespace {

double rounded(ElementType type, double value) {
  alignas(8) std::array<unsigned char, 8> memory{};
  store_element(type, memory.data(), value);
  return load_element(type, memory.data());
}

}  // namespace

TEST_SUITE("ElementType") {
  TEST_CASE("names read back") {
    for (const ElementType type :
         {ElementType::f64, ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::i32,
          ElementType::i8, ElementType::u8, ElementType::i16, ElementType::u16, ElementType::i64,
          ElementType::u64}) {
      CHECK(autotune::element_type_from_string(to_string(type)) == type);
    }
    CHECK_THROWS_AS(static_cast<void>(autotune::element_type_from_string("tf32")),
                    autotune::UsageError);
  }

  TEST_CASE("numbers that a type holds are kept, others rounded to nearest even") {
    for (const ElementType type :
         {ElementType::f64, ElementType::f32, ElementType::bf16, ElementType::f16}) {
      CAPTURE(to_string(type));
      const double unit = info(type).unit_roundoff;
      for (const double value : {0.0, 1.0, -2.0, 0.5, 96.0, 1 + 2 * unit}) {
        CHECK(rounded(type, value) == value);
      }
      CHECK(rounded(type, 1 + unit) == 1);                 // a tie
      CHECK(rounded(type, 1 + 3 * unit) == 1 + 4 * unit);  // a tie
      CHECK(std::isnan(rounded(type, std::nan(""))));
      CHECK(rounded(type, -std::numeric_limits<double>::infinity()) ==
            -std::numeric_limits<double>::infinity());
    }
  }

  TEST_CASE("a number next to a tie is rounded to its own side") {
    constexpr double kNext = 0x1p-40;  // less than FP32 tells apart
    for (const ElementType type : {ElementType::bf16, ElementType::f16}) {
      CAPTURE(to_string(type));
      const double unit = info(type).unit_roundoff;
      for (const double sign : {1.0, -1.0}) {
        CHECK(rounded(type, sign * (1 + unit + kNext)) == sign * (1 + 2 * unit));
        CHECK(rounded(type, sign * (1 + 3 * unit - kNext)) == sign * (1 + 2 * unit));
      }
    }
    CHECK(std::isinf(rounded(ElementType::bf16, 1e300)));
    CHECK(std::isinf(rounded(ElementType::bf16, std::numeric_limits<double>::infinity())));
    CHECK(rounded(ElementType::bf16, 1e-300) == 0);
  }

  TEST_CASE("integers are exact, other numbers are rounded to nearest even") {
    CHECK(is_integer(ElementType::i32));
    CHECK_FALSE(is_integer(ElementType::f64));
    for (const double value : {0.0, -1.0, 2147483647.0, -2147483648.0}) {
      CHECK(rounded(ElementType::i32, value) == value);
    }
    CHECK(rounded(ElementType::i32, 2.5) == 2);
    CHECK(rounded(ElementType::i32, -3.5) == -4);
  }

  TEST_CASE("the ends of FP16's range") {
    CHECK(rounded(ElementType::f16, 65504) == 65504);
    CHECK(rounded(ElementType::f16, 65519) == 65504);
    CHECK(std::isinf(rounded(ElementType::f16, 65520)));
    CHECK(rounded(ElementType::f16, 0x1p-24) == 0x1p-24);
    CHECK(rounded(ElementType::f16, 0x1p-26) == 0);
    CHECK(rounded(ElementType::f16, 2047 * 0x1p-11 + 0x1p-12) == 1);  // carries into the exponent
  }
}
