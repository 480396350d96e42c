#include "cli/output/table.hpp"

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
    CHECK(printable("a\xe2\x80") == "a??");                // the character is cut
    CHECK(printable("\xff\xc0z") == "??z");
    CHECK(printable("\xe0\x80\x9bz") == "???z");  // U+001B in three bytes
    CHECK(printable("\xf0\x9f\x98\x80") == "\xf0\x9f\x98\x80");
    CHECK(printable("a\r\nb\t", "\r\n") == "a\r\nb?");
  }
}

}  // namespace
}  // namespace autotune::test
