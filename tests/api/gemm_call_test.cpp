// The arguments of a product in row-major terms.
#include "api/gemm_call.hpp"

#include <cstdint>

#include <doctest/doctest.h>

namespace autotune::test {
namespace {

// A call whose matrices have this type, all lds, and for a batch all strides.
GemmCall call_in(ElementType type, std::int64_t ld, std::int64_t batch = 1,
                 std::int64_t stride = 0) {
  void* const address = reinterpret_cast<void*>(std::uintptr_t{64});
  GemmCall call;
  call.problem = {.m = 8, .n = 8, .k = 8, .batch = batch, .types = {type, type, type, type}};
  call.a = call.b = {address, type, ld, stride};
  call.c = {address, type, ld, stride};
  return call;
}

TEST_SUITE("a call in row-major terms") {
  TEST_CASE("is aligned where its lds and strides are multiples of 16 bytes, whatever the type") {
    struct Case {
      ElementType type;
      std::int64_t elements;  // of 16 bytes
    };
    for (const auto& [type, elements] : {Case{ElementType::f32, 4}, Case{ElementType::f64, 2},
                                         Case{ElementType::bf16, 8}, Case{ElementType::f16, 8}}) {
      CAPTURE(elements);
      CHECK(call_in(type, 8 + elements).is_aligned());
      CHECK_FALSE(call_in(type, 8 + elements / 2).is_aligned());
      CHECK(call_in(type, 8, 2, 64 + elements).is_aligned());
      CHECK_FALSE(call_in(type, 8, 2, 64 + elements / 2).is_aligned());
      CHECK(call_in(type, 8, 1, 64 + elements / 2).is_aligned());  // a single product has no stride
      CHECK(call_in(type, (elements << 36) - elements).is_aligned());
      CHECK_FALSE(call_in(type, elements << 36).is_aligned());  // 2^40 bytes
      GemmCall moved = call_in(type, 8);
      moved.b.data = static_cast<const char*>(moved.b.data) + 8;
      CHECK_FALSE(moved.is_aligned());
    }
  }

  TEST_CASE("has the matrices of a column-major product exchanged, with their types") {
    float a = 0;
    float b = 0;
    float c = 0;
    GemmArguments arguments{.a = {&a, 20}, .b = {&b, 30}, .c = {&c, 40}};
    arguments.a.type = ElementType::bf16;
    const GemmProblem problem{.m = 16, .n = 24, .k = 8, .order = Order::column_major};
    const GemmCall call = unchecked_call(problem, arguments);
    CHECK(call.a.data == &b);
    CHECK(call.a.ld == 30);
    CHECK(call.b.type == ElementType::bf16);
    CHECK(call.c.ld == 40);
    CHECK(call.problem.m == 24);
  }
}

}  // namespace
}  // namespace autotune::test
