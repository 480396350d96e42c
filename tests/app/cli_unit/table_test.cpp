#include "cli/table.hpp"

#include <doctest/doctest.h>

namespace autotune::test {
namespace {

TEST_SUITE("tables") {
  TEST_CASE("what a terminal would act upon is not printed") {
    CHECK(printable("m\xc3\xa9 \xe2\x80\x94 \xe2\x86\x92") ==
          "m\xc3\xa9 \xe2\x80\x94 \xe2\x86\x92");
    CHECK(printable("a\x1b[2J\x7f") == "a?[2J?");
    CHECK(printable("a\xc2\x9bz") == "a?z");               // U+009B
    CHECK(printable("a\xe2\x80\xaez") == "a?z");           // U+202E: what follows, right to left
    CHECK(printable("a\xe2\x81\xa6z\xd8\x9c") == "a?z?");  // U+2066, U+061C
    CHECK(printable("a\xe2\x80") == "a\xe2\x80");
    CHECK(printable("a\r\nb\t", "\r\n") == "a\r\nb?");
  }
}

}  // namespace
}  // namespace autotune::test
