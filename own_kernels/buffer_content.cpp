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

DescribedContent parse_content(TokenStream& tokens, const std::function<Expression()>& number) {
  const Token name = tokens.next();
  DescribedContent result;
  if (name.kind == Token::Kind::text) {
    result.content.kind = TensorContent::Kind::file;
    result.content.file = name.text;
    return result;
  }
  const auto known = std::ranges::find(kKinds, name.text, &NamedKind::name);
  if (known == std::end(kKinds)) {
    tokens.refuse(name, fmt::format("'{}' is not a kind of data: these are uniform(low, high), "
                                    "normal(mean, deviation), integers(low, high), linear(first, "
                                    "last), constant(value), permutation() and \"file.npy\"",
                                    name.text));
  }
  result.content.kind = known->kind;
  const Token open = tokens.expect("(");
  while (!tokens.next_if(")")) {
    if (!result.numbers.empty()) tokens.expect(",");
    result.numbers.push_back(number());
  }
  if (result.numbers.size() != known->numbers) {
    tokens.refuse(open, fmt::format("{} takes {} numbers, not {}", name.text, known->numbers,
                                    result.numbers.size()));
  }
  return result;
}

TensorContent content_of(const DescribedContent& described, std::span<const std::int64_t> values) {
  TensorContent content = described.content;
  const std::vector<Expression>& numbers = described.numbers;
  if (!numbers.empty()) content.first = numbers[0].number(values);
  if (numbers.size() > 1) content.second = numbers[1].number(values);
  const bool has_range =
      content.kind == TensorContent::Kind::uniform || content.kind == TensorContent::Kind::integers;
  if (has_range && numbers.size() > 1 && content.first > content.second) {
    numbers[0].refuse(fmt::format("the range of data ends at {}, before it begins at {}",
                                  content.second, content.first));
  }
  return content;
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
