#include "own_kernels/tokens.hpp"

#include <doctest/doctest.h>

#include "autotune/error.hpp"

using autotune::SourceText;
using autotune::Token;
using autotune::TokenStream;
using autotune::UsageError;
using Slashes = autotune::TokenStream::Slashes;

namespace {

std::string joined(const std::string& text, Slashes slashes = Slashes::operation) {
  TokenStream tokens(SourceText("a.cu", text), 0, text.size(), slashes);
  std::string result;
  while (!tokens.at_end()) result += std::string(tokens.next().text) + "|";
  return result;
}

}  // namespace

TEST_SUITE("tokens") {
  TEST_CASE("a place is file, line and column from 1") {
    const SourceText source("a.cu", "ab\ncd\n\nx");
    CHECK(source.where(0) == "a.cu:1:1");
    CHECK(source.where(1) == "a.cu:1:2");
    CHECK(source.where(2) == "a.cu:1:3");
    CHECK(source.where(3) == "a.cu:2:1");
    CHECK(source.where(7) == "a.cu:4:1");
    CHECK(source.where(8) == "a.cu:4:2");
    CHECK_THROWS_WITH_AS(source.refuse(4, "why"), "a.cu:2:2: why", UsageError);
  }

  TEST_CASE("names, numbers, texts and punctuation") {
    CHECK(joined("a_1 = 1.5e-3f+0x1F-0xE+1'000 \"b \\\" c\" ** <= . ...") ==
          "a_1|=|1.5e-3f|+|0x1F|-|0xE|+|1'000|b \\\" c|**|<=|.|...|");
    CHECK(joined("größe>=.5") == "größe|>=|.5|");
  }

  TEST_CASE("in source code two slashes begin a comment and stars are pointers") {
    CHECK(joined("a // b\nc") == "a|//|b|c|");
    CHECK(joined("a // b\nc", Slashes::comment) == "a|c|");
    CHECK(joined("a // b \\\nc\nd // e \\\r\nf", Slashes::comment) == "a|d|");
    CHECK(joined("float**x, y<z<1>>", Slashes::comment) == "float|*|*|x|,|y|<|z|<|1|>|>|");
    CHECK(joined("a/*b*/c /**/ /d", Slashes::comment) == "a|c|/|d|");
    CHECK(joined("a/*b*/c") == "a|c|");
  }

  TEST_CASE("a line that a backslash ends goes on") {
    CHECK(joined("a \\\n b\\\r\nc \\ d") == "a|b|c|\\|d|");
  }

  TEST_CASE("only the part of the text is read") {
    const std::string text = "abc /* d */ \"ef\" 1234";
    TokenStream tokens(SourceText("a.cu", text), 1, 2, Slashes::operation);
    CHECK(tokens.next().text == "b");
    CHECK(tokens.at_end());
    CHECK(tokens.peek(5).kind == Token::Kind::end);
    CHECK(tokens.next().offset == 2);
    TokenStream comment(SourceText("a.cu", text), 4, 9, Slashes::operation);
    CHECK_THROWS_WITH_AS(comment.next(), "a.cu:1:5: this comment does not end: close it by */",
                         UsageError);
    TokenStream quote(SourceText("a.cu", text), 12, 15, Slashes::operation);
    CHECK_THROWS_WITH_AS(quote.next(), "a.cu:1:13: this text does not end: close it by \"",
                         UsageError);
    TokenStream number(SourceText("a.cu", text), 17, 19, Slashes::operation);
    CHECK(number.next().text == "12");
    CHECK(number.taken_end() == 19);
  }

  TEST_CASE("what is expected is told") {
    const auto stream = [](const char* text) {
      return TokenStream(SourceText("a.cu", text), 0, 100, Slashes::operation);
    };
    CHECK_THROWS_WITH_AS(stream(" x").expect(")"), "a.cu:1:2: expected ')' in place of 'x'",
                         UsageError);
    CHECK_THROWS_WITH_AS(stream("").expect(")"), "a.cu:1:1: expected ')' in place of the end",
                         UsageError);
    CHECK_THROWS_WITH_AS(stream("3").expect_identifier("the name of a parameter"),
                         "a.cu:1:1: expected the name of a parameter in place of '3'", UsageError);
    CHECK(stream("x").expect_identifier("a name").text == "x");
    CHECK_FALSE(stream("\"tune\"").next_if("tune"));
    CHECK_FALSE(stream("'('").next_if("("));
    CHECK(stream("tune").next_if("tune"));
  }

  TEST_CASE("a copy of a stream is a place to come back to") {
    TokenStream tokens(SourceText("a.cu", "a b c"), 0, 5, Slashes::operation);
    CHECK(tokens.peek(2).text == "c");
    TokenStream copy = tokens;
    CHECK(tokens.next().text == "a");
    CHECK(tokens.next().text == "b");
    CHECK(copy.next().text == "a");
  }
}
