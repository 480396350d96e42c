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

  TEST_CASE(
      "no cell of CSV is a formula, or has an end of line that a reader may take for another") {
    const auto csv_of = [](const std::string& cell) {
      Table table({"a"});
      table.add({cell});
      return table.csv().substr(2);
    };
    CHECK(csv_of("=1+2") == "'=1+2\n");
    CHECK(csv_of("=HYPERLINK(\"a\",\"b\")") == "\"'=HYPERLINK(\"\"a\"\",\"\"b\"\")\"\n");
    CHECK(csv_of("@SUM(A1)") == "'@SUM(A1)\n");
    CHECK(csv_of("+cmd") == "'+cmd\n");
    CHECK(csv_of("-x") == "'-x\n");
    CHECK(csv_of("-1.5") == "-1.5\n");
    CHECK(csv_of("-") == "-\n");
    CHECK(csv_of("A=1,B=2") == "\"A=1,B=2\"\n");
    CHECK(csv_of("a\rb") == "a?b\n");
    CHECK(csv_of("a\nb") == "\"a\nb\"\n");
  }

  TEST_CASE("times are in microseconds, unless one of them is too long") {
    TimeColumn times;
    times.add(5);
    times.add(99'999);
    CHECK(times.title() == "time us");
    CHECK(times.text(5) == "5.0");
    times.add(18'103'645.6);
    CHECK(times.title("other") == "other");
    CHECK(times.text(5) == "5.0 us");
    CHECK(times.text(250'000) == "250.0 ms");
    CHECK(times.text(18'103'645.6) == "18.10 s");
    CHECK(times.text(4.3e20) == "4.3e+14 s");
    Table table({"size", "time"});
    table.add({"1", times.text(5)});
    table.add({"2", times.text(18'103'645.6)});
    CHECK(table.text() == "size     time\n   1   5.0 us\n   2  18.10 s\n");
  }

  TEST_CASE("a text is folded between words") {
    CHECK(folded("a note of some words", 10) == "a note of\nsome words\n");
    CHECK(folded("X=1,Y=2,Z=3 end", 8) == "X=1,Y=2,\nZ=3 end\n");
  }
}

}  // namespace
}  // namespace autotune::test
