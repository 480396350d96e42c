#include "own_kernels/buffer_content.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace autotune {
namespace {

struct NamedKind {
  std::string_view name;
  TensorContent::Kind kind;
  std::size_t numbers;
};
constexpr NamedKind kKinds[] = {{"uniform", TensorContent::Kind::uniform, 2},
                                {"normal", TensorContent::Kind::normal, 2},
                                {"integers", TensorContent::Kind::integers, 2},
                                {"linear", TensorContent::Kind::linear, 2},
                                {"constant", TensorContent::Kind::constant, 1},
                                {"permutation", TensorContent::Kind::permutation, 0}};

double parse_number(TokenStream& tokens, const Expression::Scope& scope) {
  const Token place = tokens.peek();
  const Expression value = Expression::parse(tokens, scope);
  if (!value.variables().empty()) {
    tokens.refuse(place, "a number must stand here: sizes and parameters may not be part of it");
  }
  return value.number({});
}

}  // namespace

TensorContent parse_content(TokenStream& tokens, const Expression::Scope& scope) {
  const Token name = tokens.next();
  TensorContent result;
  if (name.kind == Token::Kind::text) {
    result.kind = TensorContent::Kind::file;
    result.file = name.text;
    return result;
  }
  const auto known = std::ranges::find(kKinds, name.text, &NamedKind::name);
  if (known == std::end(kKinds)) {
    tokens.refuse(name, fmt::format("'{}' is not a kind of data: these are uniform(low, high), "
                                    "normal(mean, deviation), integers(low, high), linear(first, "
                                    "last), constant(value), permutation() and \"file.npy\"",
                                    name.text));
  }
  result.kind = known->kind;
  double* const values[] = {&result.first, &result.second};
  const Token open = tokens.expect("(");
  std::size_t count = 0;
  for (; !tokens.next_if(")"); ++count) {
    if (count > 0) tokens.expect(",");
    const double value = parse_number(tokens, scope);
    if (count < std::size(values)) *values[count] = value;
  }
  if (count != known->numbers) {
    tokens.refuse(open,
                  fmt::format("{} takes {} numbers, not {}", name.text, known->numbers, count));
  }
  const bool has_range =
      known->kind == TensorContent::Kind::uniform || known->kind == TensorContent::Kind::integers;
  if (has_range && result.first > result.second) {
    tokens.refuse(open, fmt::format("{}: {} is above {}", name.text, result.first, result.second));
  }
  return result;
}

Tolerance parse_tolerance(TokenStream& tokens, const Expression::Scope& scope) {
  const Token place = tokens.peek();
  Tolerance tolerance;
  tolerance.absolute = parse_number(tokens, scope);
  // A name behind the comma is that of another buffer.
  if (tokens.peek().is(",") && tokens.peek(1).kind == Token::Kind::number) {
    tokens.next();
    tolerance.relative = parse_number(tokens, scope);
  }
  if (!(tolerance.absolute >= 0) || !(tolerance.relative >= 0)) {
    tokens.refuse(place, "a tolerance must be 0 or more");
  }
  return tolerance;
}

}  // namespace autotune
