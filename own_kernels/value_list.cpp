// Lists of a parameter's values.
#include <array>

#include <fmt/format.h>

#include "own_kernels/expression.hpp"

namespace autotune {
namespace {

class ValueListReader {
 public:
  ValueListReader(TokenStream& tokens, Division division) : tokens_(tokens), division_(division) {}

  std::vector<std::int64_t> read() {
    do {
      if (is_list_next()) {
        read_list();
        while (tokens_.next_if("+")) read_list();
      } else {
        keep(integer());
      }
    } while (tokens_.next_if(","));
    return std::move(values_);
  }

 private:
  std::int64_t integer() {
    return Expression::parse(tokens_, Expression::Scope(), division_).integer({});
  }

  void keep(std::int64_t value) {
    constexpr std::size_t kMostValues = 100'000;
    if (values_.size() == kMostValues) {
      tokens_.source().refuse(
          tokens_.taken_end(),
          fmt::format("more than {} values of one parameter: use fewer", kMostValues));
    }
    values_.push_back(value);
  }

  bool is_list_next() {
    if (tokens_.peek().is("[")) return true;
    if (tokens_.peek().is("(")) return !place_in_brackets(",").is(")");
    return tokens_.peek(1).is("(") && (tokens_.peek().is("range") || tokens_.peek().is("list"));
  }

  // The first token of this spelling inside of the brackets that open next, or else the closing
  // one, or the end.
  Token place_in_brackets(std::string_view spelling) {
    TokenStream ahead = tokens_;
    ahead.next();
    for (int depth = 0;;) {
      const Token token = ahead.next();
      if (token.kind == Token::Kind::end || (depth == 0 && token.is(spelling))) return token;
      const bool closes = token.is(")") || token.is("]");
      if (closes && depth == 0) return token;
      if (closes) --depth;
      if (token.is("(") || token.is("[")) ++depth;
    }
  }

  void read_list() {
    if (tokens_.peek().is("list")) {
      tokens_.next();
      tokens_.expect("(");
      read_items();
      tokens_.expect(")");
    } else {
      read_items();
    }
  }

  void read_items() {
    if (tokens_.peek().is("range")) return read_range();
    if (tokens_.peek().is("[") && place_in_brackets("for").is("for")) return read_rule();
    const bool has_brackets = tokens_.next_if("[");
    if (!has_brackets && !tokens_.next_if("(")) tokens_.refuse_next("a list of values");
    const std::string_view closing = has_brackets ? "]" : ")";
    while (!tokens_.next_if(closing)) {
      keep(integer());
      if (!tokens_.peek().is(closing)) tokens_.expect(",");
    }
  }

  void read_range() {
    const Token name = tokens_.next();
    tokens_.expect("(");
    std::array<std::int64_t, 3> numbers{};
    std::size_t count = 0;
    do {
      if (count == numbers.size()) tokens_.refuse(name, "range takes at most 3 values");
      numbers[count++] = integer();
    } while (tokens_.next_if(","));
    tokens_.expect(")");
    const std::int64_t begin = count == 1 ? 0 : numbers[0];
    const std::int64_t end = count == 1 ? numbers[0] : numbers[1];
    const std::int64_t step = count == 3 ? numbers[2] : 1;
    if (step == 0) tokens_.refuse(name, "the step of this range is 0: use another, e.g. 1");
    if (step > 0 ? begin >= end : begin <= end) {
      tokens_.refuse(name, fmt::format("this range has no values, since it ends before {}: use a "
                                       "later end, which is left out itself",
                                       end));
    }
    for (std::int64_t value = begin; step > 0 ? value < end : value > end;) {
      keep(value);
      if (__builtin_add_overflow(value, step, &value)) break;
    }
  }

  // [2**i for i in range(1, 5)]
  void read_rule() {
    tokens_.expect("[");
    TokenStream rule = tokens_;
    while (!tokens_.peek().is("for")) tokens_.next();
    tokens_.expect("for");
    const Token name = tokens_.expect_identifier("the name of a variable");
    Expression::Scope scope;
    scope.add_variable(std::string(name.text));
    const Expression value = Expression::parse(rule, scope, division_);
    rule.expect("for");
    tokens_.expect("in");
    if (tokens_.peek().is("[") && place_in_brackets("for").is("for")) {
      tokens_.refuse_next("a range or a list of numbers");
    }
    ValueListReader inputs(tokens_, division_);
    inputs.read_list();
    tokens_.expect("]");
    for (const std::int64_t input : inputs.values_) keep(value.integer({&input, 1}));
  }

  TokenStream& tokens_;
  Division division_;
  std::vector<std::int64_t> values_;
};

}  // namespace

std::vector<std::int64_t> Expression::parse_values(TokenStream& tokens, Division division) {
  return ValueListReader(tokens, division).read();
}

}  // namespace autotune
