#include "own_kernels/expression.hpp"

#include <random>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

using autotune::Division;
using autotune::Expression;
using autotune::SourceText;
using autotune::TokenStream;
using autotune::UsageError;

namespace {

constexpr Division kC = Division::truncating;
constexpr Division kPython = Division::python;

TokenStream stream_of(const std::string& text) {
  return TokenStream(SourceText("a.cu", text), 0, text.size(), TokenStream::Slashes::operation);
}

// The variables are x = 7, y = -2 and z = 0; half is x / 2, and name a text.
const std::vector<std::int64_t> kValues = {7, -2, 0};

Expression::Scope example_scope() {
  Expression::Scope scope;
  for (const char* name : {"x", "y", "z"}) scope.add_variable(name);
  const auto define = [&](const char* name, const std::string& text) {
    TokenStream tokens = stream_of(text);
    scope.add_definition(name, Expression::parse(tokens, scope));
  };
  define("half", "x / 2");
  define("both", "half > 0 ? half + half : 0");
  define("name", "'float'");
  return scope;
}

Expression parsed(const std::string& text, Division division = kC) {
  TokenStream tokens = stream_of(text);
  const Expression expression = Expression::parse(tokens, example_scope(), division);
  if (!tokens.at_end()) tokens.refuse_next("the end");
  return expression;
}

std::string value(const std::string& text, Division division = kC) {
  return parsed(text, division).text(kValues);
}

std::string fault(const std::string& text, Division division = kC) {
  try {
    return "no fault, but " + value(text, division);
  } catch (const UsageError& error) {
    return error.what();
  }
}

std::vector<std::int64_t> values(const std::string& text, Division division = kC) {
  TokenStream tokens = stream_of(text);
  const std::vector<std::int64_t> result = Expression::parse_values(tokens, division);
  if (!tokens.at_end()) tokens.refuse_next("the end");
  return result;
}

std::string fault_of_values(const std::string& text) {
  try {
    return "no fault, but " + std::to_string(values(text).size()) + " values";
  } catch (const UsageError& error) {
    return error.what();
  }
}

using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST_SUITE("expressions") {
  TEST_CASE("operators bind as in C and Python") {
    CHECK(value("1 + 2 * 3") == "7");
    CHECK(value("(1 + 2) * 3") == "9");
    CHECK(value("10 - 3 - 2") == "5");
    CHECK(value("-2 ** 2") == "-4");
    CHECK(value("2 ** 3 ** 2") == "512");
    CHECK(value("2 ** -1") == "0.5");
    CHECK(value("1 + 2 == 3 && 4 > 3") == "true");
    CHECK(value("0 || 1 && 0") == "false");
    CHECK(value("!0 + 1") == "2");
    CHECK(value("not 0 + 1") == "false");
    CHECK(value("not 1 == 2") == "true");
    CHECK(value("!1 == 2") == "false");
    CHECK(value("0 ? 1 : 0 ? 2 : 3") == "3");
    CHECK(value("1 ? 2 ? 3 : 4 : 5") == "3");
    CHECK(value("(2 + 1 == 3) * 4") == "4");
    CHECK(value("- - + 3") == "3");
  }

  TEST_CASE("division and remainder are those of C or Python") {
    CHECK(value("x / y") == "-3");
    CHECK(value("x / y", kPython) == "-3.5");
    CHECK(value("x // y") == "-4");
    CHECK(value("x // y", kPython) == "-4");
    CHECK(value("x % y") == "1");
    CHECK(value("x % y", kPython) == "-1");
    CHECK(value("y % x") == "-2");
    CHECK(value("y % x", kPython) == "5");
    CHECK(value("6 / 3 % 2 == 0", kPython) == "true");
    CHECK(value("7.5 // 2") == "3");
    CHECK(value("-7.5 // 2") == "-4");
    CHECK(value("-7.5 % 2") == "-1.5");
    CHECK(value("-7.5 % 2", kPython) == "0.5");
    CHECK(value("7.0 / 2") == "3.5");
    CHECK(value("round(2.5)") == "3");
    CHECK(value("round(2.5)", kPython) == "2");
    CHECK(value("-9223372036854775807 - 1") == "-9223372036854775808");
    CHECK(value("(-9223372036854775807 - 1) % -1") == "0");
  }

  TEST_CASE("functions") {
    CHECK(value("min(3, 1, 2) + max(3, 1, 2.5)") == "4");
    CHECK(value("ceil(2.1) + floor(-2.1) + ceil(5)") == "5");
    CHECK(value("abs(y) + abs(-0.5)") == "2.5");
    CHECK(value("div_ceil(x, 2) * 10 + ceil_div(y, x)") == "40");
    CHECK(value("div_ceil(-7, 2)") == "-3");
    CHECK(value("div_ceil(-7, -2)") == "4");
    CHECK(value("log2(1024) + math.log2(2)") == "11");
    CHECK(value("int(-2.7) + float(1) / 2") == "-1.5");
  }

  TEST_CASE("comparisons chain, and stop at the first that is false") {
    CHECK(value("1 < 2 < 3") == "true");
    CHECK(value("3 > 2 > 2") == "false");
    CHECK(value("1 < 3 < 2 < 9") == "false");
    CHECK(value("3 < 2 < 1 / z") == "false");
    CHECK(value("1 == 1.0") == "true");
    CHECK(value("true == 1") == "true");
    CHECK(value("0 < x <= 7 and y != x") == "true");
  }

  TEST_CASE("members of lists") {
    CHECK(value("x in (1, 7)") == "true");
    CHECK(value("x in [1, 2 ** 3,]") == "false");
    CHECK(value("x not in (1, 2)") == "true");
    CHECK(value("not x in (1, 2) and x") == "true");
    CHECK(value("x in ()") == "false");
    CHECK(value("name in ('float', \"double\")") == "true");
    CHECK(value("name == 'double' or name == 1") == "false");
  }

  TEST_CASE("what does not count is not evaluated") {
    CHECK(value("z == 0 || 1 / z > 0") == "true");
    CHECK(value("z && 1 / z") == "false");
    CHECK(value("z ? 1 / z : 5") == "5");
    CHECK(value("1 ? 5 : 1 / z") == "5");
    CHECK(value("z or x", kPython) == "7");
    CHECK(value("x and y", kPython) == "-2");
    CHECK(value("x or y and z") == "true");
    CHECK(value("z or z or 3", kPython) == "3");
  }

  TEST_CASE("names are variables and definitions") {
    CHECK(value("half * 10 + both") == "36");
    CHECK(value("name") == "float");
    CHECK(parsed("y + both").variables() == std::vector<std::size_t>{0, 1});
    CHECK(parsed("both and z * 0").variables() == std::vector<std::size_t>{0, 2});
    CHECK(parsed("3 * 4").variables().empty());
    CHECK(parsed("  x \\\n   +\t1 ").source() == "x + 1");
    CHECK(parsed("(name) == 'a'").source() == "(name) == 'a'");
    CHECK(example_scope().variables() == std::vector<std::string>{"x", "y", "z"});
    CHECK(example_scope().find("w") == nullptr);
    CHECK(std::get<std::size_t>(*example_scope().find("z")) == 2);
    CHECK_THROWS_AS(example_scope().add_variable("half"), autotune::Error);
    CHECK_THROWS_AS(static_cast<void>(parsed("z").integer(std::vector<std::int64_t>{1, 2})),
                    autotune::Error);
  }

  TEST_CASE("an expression stops before what cannot go on") {
    TokenStream tokens = stream_of("x + 1, y) z");
    CHECK(Expression::parse(tokens, example_scope()).integer(kValues) == 8);
    CHECK(tokens.next_if(","));
    CHECK(Expression::parse(tokens, example_scope()).integer(kValues) == -2);
    CHECK(tokens.peek().text == ")");
  }

  TEST_CASE("a value is asked for as one of several types") {
    CHECK(parsed("4 / 2.0").integer(kValues) == 2);
    CHECK(parsed("x > 0").integer(kValues) == 1);
    CHECK(parsed("x / 2.0").number(kValues) == 3.5);
    CHECK(parsed("0.5").truth(kValues));
    CHECK_FALSE(parsed("0.0").truth(kValues));
    CHECK_THROWS_WITH_AS(static_cast<void>(parsed(" 5 / 2.0").integer(kValues)),
                         "a.cu:1:2: 5 / 2.0 is 2.5: expected a whole number of at most 64 bits",
                         UsageError);
    CHECK_THROWS_AS(static_cast<void>(parsed("1e30").integer(kValues)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(parsed("name").integer(kValues)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(parsed("name").number(kValues)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(parsed("name").truth(kValues)), UsageError);
  }

  TEST_CASE("numbers are those of C") {
    CHECK(value("0x1F + 10u + 1'000LL") == "1041");
    CHECK(value("1.5f + .5 + 1e-1 + 2.") == "4.1");
    CHECK(value("9223372036854775807") == "9223372036854775807");
    for (const char* text : {"9223372036854775808", "010", "1e999", "1.2.3", "0x", "0xG", "12ab",
                             "0b11", "1e", "1__"}) {
      CAPTURE(text);
      CHECK(fault(text).find("cannot be read") != std::string::npos);
    }
  }

  TEST_CASE("what is wrong is told with its place") {
    CHECK(fault("x + w") ==
          "a.cu:1:5: the name 'w' is unknown: use one of both, half, name, x, y, z");
    CHECK(fault("sqrt(x)") ==
          "a.cu:1:1: the function 'sqrt' is unknown: use one of abs, ceil, ceil_div, div_ceil, "
          "float, floor, int, log2, max, min, round");
    CHECK(fault("min(x)") == "a.cu:1:1: min takes at least 2 values in place of 1");
    CHECK(fault("log2(x, y)") == "a.cu:1:1: log2 takes 1 value in place of 2");
    CHECK(fault("div_ceil(1, 2, 3)") == "a.cu:1:1: div_ceil takes 2 values in place of 3");
    CHECK(fault("abs()") == "a.cu:1:1: abs takes 1 value in place of 0");
    CHECK(fault("x +") == "a.cu:1:4: expected a value in place of the end");
    CHECK(fault("x + * y") == "a.cu:1:5: expected a value in place of '*'");
    CHECK(fault("(x + y") == "a.cu:1:7: expected ')' in place of the end");
    CHECK(fault("x ? y") == "a.cu:1:6: expected ':' in place of the end");
    CHECK(fault("x in 3") == "a.cu:1:6: expected '(' in place of '3'");
    CHECK(fault("x y") == "a.cu:1:3: expected the end in place of 'y'");
    CHECK(fault("x and and") == "a.cu:1:7: expected a value in place of 'and'");
    CHECK(fault("x << 2") == "a.cu:1:4: expected a value in place of '<'");
  }

  TEST_CASE("what has no value is refused with the place of the operator") {
    CHECK(fault("1 +\nx / z") == "a.cu:2:3: 7 / 0 has no value: a divisor must not be 0");
    for (const char* text :
         {"x % z", "x // z", "x / 0.0", "x // 0.0", "x % 0.0", "div_ceil(x, z)"}) {
      CAPTURE(text);
      CHECK(fault(text).find("a divisor must not be 0") != std::string::npos);
      CHECK(fault(text, kPython).find("a divisor must not be 0") != std::string::npos);
    }
    CHECK(fault("x / z", kPython) == "a.cu:1:3: 7 / 0 has no value: a divisor must not be 0");
    for (const char* text :
         {"9223372036854775807 + 1", "-9223372036854775807 - 2", "2 ** 63",
          "4611686018427387904 * 2", "(-9223372036854775807 - 1) / -1",
          "(-9223372036854775807 - 1) // -1", "-(-9223372036854775807 - 1)",
          "abs(-9223372036854775807 - 1)", "ceil(1e19)", "int(-1e30)", "3 ** 1000000000000"}) {
      CAPTURE(text);
      CHECK(fault(text).find("does not fit 64 bits") != std::string::npos);
    }
    CHECK(value("(-1) ** 9223372036854775807 + 1 ** 9223372036854775807 + 0 ** 5") == "0");
    for (const char* text : {"1e308 * 10", "0 ** -1", "(-2.0) ** 0.5", "1e308 / 1e-10"}) {
      CAPTURE(text);
      CHECK(fault(text).find("has no finite value") != std::string::npos);
    }
    CHECK(fault("log2(z)") == "a.cu:1:1: log2(0) has no value: use one above 0");
    for (const char* text :
         {"name + 1", "1 < name", "-name", "!name", "name and 1", "abs(name)", "min(name, 'a')"}) {
      CAPTURE(text);
      CHECK(fault(text).find("'float' is a text: expected a number") != std::string::npos);
    }
  }

  TEST_CASE("a fault in a definition has the definition's place") {
    Expression::Scope scope;
    scope.add_variable("x");
    const std::string text = "1 % x";
    TokenStream other(SourceText("b.cu", text), 0, text.size(), TokenStream::Slashes::operation);
    scope.add_definition("rest", Expression::parse(other, scope));
    TokenStream tokens = stream_of("2 + rest");
    const Expression expression = Expression::parse(tokens, scope);
    CHECK_THROWS_WITH_AS(static_cast<void>(expression.integer(std::vector<std::int64_t>{0})),
                         "b.cu:1:3: 1 % 0 has no value: a divisor must not be 0", UsageError);
  }

  TEST_CASE("nothing that is nested or long brings the program down") {
    const std::size_t many = 100'000;
    const auto repeated = [](const std::string& text, std::size_t count) {
      std::string result;
      for (std::size_t i = 0; i < count; ++i) result += text;
      return result;
    };
    for (const char* text :
         {"(", "-", "!", "not ", "1 ? ", "0 ? 1 : ", "2 ** ", "min(1, ", "x in ("}) {
      CAPTURE(text);
      CHECK(fault(repeated(text, many)).find("nested too deeply") != std::string::npos);
    }
    for (const char* text : {"1 + ", "x and ", "1 < ", "x * "}) {
      CAPTURE(text);
      CHECK(fault(repeated(text, many) + "1").find("too long") != std::string::npos);
    }
    CHECK(value(repeated("(", 90) + "1" + repeated(")", 90)) == "1");
    CHECK(value(repeated("1 + (", 90) + "1" + repeated(")", 90)) == "91");

    Expression::Scope scope;
    scope.add_variable("a0");
    const auto grow = [&](const char* form) {
      for (int i = 0; i < 2000; ++i) {
        std::string text = form;
        for (std::size_t at = 0; (at = text.find('#')) != std::string::npos;) {
          text.replace(at, 1, "a" + std::to_string(i));
        }
        TokenStream tokens = stream_of(text);
        scope.add_definition("a" + std::to_string(i + 1), Expression::parse(tokens, scope));
      }
    };
    CHECK_THROWS_WITH_AS(grow("# + #"), doctest::Contains("too long"), UsageError);
    scope = Expression::Scope();
    scope.add_variable("a0");
    CHECK_THROWS_WITH_AS(grow("1 + #"), doctest::Contains("nested too deeply"), UsageError);
    scope = Expression::Scope();
    scope.add_variable("a0");
    CHECK_THROWS_WITH_AS(grow("#"), doctest::Contains("at most 1000 may be defined"), UsageError);
  }

  TEST_CASE("values of a parameter") {
    CHECK(values("16, 32, true, -1") == Numbers{16, 32, 1, -1});
    CHECK(values("range(1, 4), 9") == Numbers{1, 2, 3, 9});
    CHECK(values("range(3)") == Numbers{0, 1, 2});
    CHECK(values("range(8, 1, -3)") == Numbers{8, 5, 2});
    CHECK(values("range(9223372036854775800, 9223372036854775807, 5)") ==
          Numbers{9223372036854775800, 9223372036854775805});
    CHECK(values("[1, 2,], (3, 4)") == Numbers{1, 2, 3, 4});
    CHECK(values("(1 + 2) * 3") == Numbers{9});
    CHECK(values("list(range(2, 4))") == Numbers{2, 3});
    CHECK(values("list([5, False])") == Numbers{5, 0});
    CHECK(values("[2**i for i in range(1, 5)]") == Numbers{2, 4, 8, 16});
    CHECK(values("[1, 2] + [32 * i for i in range(1, 3)] + list(range(2))") ==
          Numbers{1, 2, 32, 64, 0, 1});
    CHECK(values("[i // 2 for i in (5, 8)]") == Numbers{2, 4});
    CHECK(values("4 / 2", kPython) == Numbers{2});
    CHECK(fault_of_values("1, x") == "a.cu:1:4: the name 'x' is unknown: use numbers");
    CHECK(fault_of_values("1.5") ==
          "a.cu:1:1: 1.5 is 1.5: expected a whole number of at most 64 bits");
    CHECK(fault_of_values("range(4, 1)").find("has no values") != std::string::npos);
    CHECK(fault_of_values("range(1, 4, 0)").find("the step") != std::string::npos);
    CHECK(fault_of_values("range(1, 2, 3, 4)").find("at most 3") != std::string::npos);
    CHECK(fault_of_values("range(9000000000000000000)").find("more than 100000 values") !=
          std::string::npos);
    CHECK(fault_of_values("[i for i in [j for j in range(3)]]").find("expected a range") !=
          std::string::npos);
    CHECK(fault_of_values("[1, 2") == "a.cu:1:6: expected ',' in place of the end");
    CHECK(fault_of_values("[for i in range(3)]") == "a.cu:1:2: expected a value in place of 'for'");
    CHECK(fault_of_values("") == "a.cu:1:1: expected a value in place of the end");
  }

  TEST_CASE("texts of random tokens and bytes are parsed or refused") {
    const std::vector<std::string> words = {"x",
                                            "y",
                                            "half",
                                            "name",
                                            "1",
                                            "2.5",
                                            "'a'",
                                            "(",
                                            ")",
                                            "[",
                                            "]",
                                            ",",
                                            "+",
                                            "-",
                                            "*",
                                            "/",
                                            "//",
                                            "%",
                                            "**",
                                            "==",
                                            "<",
                                            ">=",
                                            "!",
                                            "not",
                                            "in",
                                            "and",
                                            "or",
                                            "&&",
                                            "||",
                                            "?",
                                            ":",
                                            "min",
                                            "abs",
                                            "true",
                                            "for",
                                            "i",
                                            "range",
                                            "list",
                                            "\\\n",
                                            "/*",
                                            "\"",
                                            "\xff",
                                            "9223372036854775807",
                                            ".",
                                            "math",
                                            "int",
                                            "ceil",
                                            "log2"};
    std::mt19937 random(7);
    const Expression::Scope scope = example_scope();
    std::size_t evaluated = 0;
    for (int round = 0; round < 60'000; ++round) {
      std::string text;
      const std::size_t length = 1 + random() % 12;
      for (std::size_t i = 0; i < length; ++i) {
        text += round % 4 == 0 ? std::string(1, static_cast<char>(random() % 256))
                               : words[random() % words.size()] + " ";
      }
      const Division division = round % 2 == 0 ? kC : kPython;
      try {
        TokenStream tokens = stream_of(text);
        static_cast<void>(Expression::parse(tokens, scope, division).text(kValues));
        ++evaluated;
      } catch (const UsageError& error) {
        CHECK(std::string(error.what()).substr(0, 5) == "a.cu:");
      }
      try {
        static_cast<void>(values(text, division));
      } catch (const UsageError& error) {
        CHECK(std::string(error.what()).substr(0, 5) == "a.cu:");
      }
    }
    CHECK(evaluated > 1000);
  }
}
