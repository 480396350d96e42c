#include "own_kernels/t1_text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace autotune {
namespace {

using Kind = JsonValue::Kind;

bool is_expression(const JsonValue& value) {
  return value.is(Kind::text) || value.is(Kind::number) || value.is(Kind::boolean);
}

// The values along the axes of a size: a list, an object with X, Y and Z, or one value alone.
const JsonValue* item_of(const JsonValue& sizes, std::size_t index) {
  if (sizes.is(Kind::list)) return index < sizes.items.size() ? &sizes.items[index] : nullptr;
  if (sizes.is(Kind::object)) {
    return index < 3 ? sizes.find({std::string_view("XYZ").substr(index, 1)}) : nullptr;
  }
  return index == 0 ? &sizes : nullptr;
}

}  // namespace

T1Text::T1Text(SourceText source, const JsonValue& specification)
    : source_(std::move(source)), problem_size_(specification.find({"ProblemSize"})) {}

void T1Text::open(std::string_view directive, const JsonValue& of) {
  put(fmt::format("#pragma kernel {}(", directive), of);
}

void T1Text::close() {
  text_ += ")\n";
}

void T1Text::put(std::string_view text, const JsonValue& of) {
  parts_.push_back({text_.size(), of.begin});
  text_ += text;
}

void T1Text::put_copy(const Token& token) {
  parts_.push_back({text_.size(), token.offset});
  text_.append(source_.text(), token.offset, token.end_offset() - token.offset);
}

void T1Text::put_quoted(const JsonValue& value) {
  if (!value.is(Kind::text)) refuse(value, "expected a text in quotes");
  if (value.text.find_first_of("\"\\\n\r") != std::string::npos) {
    refuse(value, "this text has quotes, backslashes or line ends, which cannot be used here");
  }
  put("\"" + value.text + "\"", value);
}

void T1Text::put_expression(const JsonValue& value) {
  put_tokens(value, /*is_list=*/false, /*is_size=*/false);
}

void T1Text::put_size(const JsonValue& value) {
  put_tokens(value, /*is_list=*/false, /*is_size=*/true);
}

void T1Text::put_parameter(const JsonValue& name, const JsonValue& values) {
  open("tune", name);
  put(name.text, name);
  put(" = ", values);
  const std::size_t begin = text_.size();
  if (values.is(Kind::list)) {
    put("[", values);
    for (const JsonValue& item : values.items) {
      put_tokens(item, /*is_list=*/false, /*is_size=*/false);
      text_ += ", ";
    }
    text_ += "]";
  } else {
    put_tokens(values, /*is_list=*/true, /*is_size=*/false);
  }
  close();
  parameters_.push_back({name.text, begin});
}

const T1Text::Parameter* T1Text::parameter(std::string_view name) const {
  const auto found = std::ranges::find(parameters_, name, &Parameter::name);
  return found == parameters_.end() ? nullptr : &*found;
}

// Brackets that close what the expression did not open would end the directive.
void T1Text::put_tokens(const JsonValue& value, bool is_list, bool is_size) {
  if (!is_expression(value)) refuse(value, "expected an expression in quotes, or a number");
  TokenStream tokens(source_, value.begin, value.end, TokenStream::Slashes::operation);
  if (tokens.at_end()) refuse(value, "this expression is empty");
  std::string open;
  std::size_t last_end = value.begin;
  while (!tokens.at_end()) {
    const Token token = tokens.peek();
    if (token.offset > last_end) text_ += ' ';
    if (token.is("(") || token.is("[")) open += token.is("(") ? ')' : ']';
    if (token.is(")") || token.is("]")) {
      if (open.empty() || open.back() != token.text[0]) {
        tokens.refuse(token, fmt::format("nothing opens this '{}'", token.text));
      }
      open.pop_back();
    }
    if (token.is(",") && open.empty() && !is_list) {
      tokens.refuse(token, "expected one expression, without a comma");
    }
    if (!put_named(tokens, is_size)) put_copy(tokens.next());
    last_end = tokens.taken_end();
  }
  if (!open.empty()) {
    source_.refuse(value.end, fmt::format("expected '{}' in place of the end", open.back()));
  }
}

bool T1Text::put_named(TokenStream& tokens, bool is_size) {
  const Token token = tokens.peek();
  if (token.is("ProblemSize")) {
    put_problem_size(tokens);
    return true;
  }
  if (!is_size) return false;
  const bool is_extreme =
      (token.is("max") || token.is("min")) && tokens.peek(1).is("(") && tokens.peek(3).is(")");
  const Token name = is_extreme ? tokens.peek(2) : token;
  const Parameter* const used = parameter(name.text);
  if (name.kind != Token::Kind::identifier || used == nullptr) return false;
  const auto [least, most] = std::ranges::minmax(values_of(*used));
  if (!is_extreme && least != most) {
    tokens.refuse(name, fmt::format("the size of a buffer may not depend on the parameter {0}: use "
                                    "max({0}), the largest of its values",
                                    name.text));
  }
  parts_.push_back({text_.size(), token.offset});
  text_ += fmt::format("({})", token.is("min") ? least : most);
  for (int i = is_extreme ? 4 : 1; i > 0; --i) tokens.next();
  return true;
}

void T1Text::put_problem_size(TokenStream& tokens) {
  const Token name = tokens.next();
  std::size_t index = 0;
  if (tokens.next_if("[")) {
    const Token number = tokens.next();
    if (number.kind != Token::Kind::number || number.text.size() != 1) {
      tokens.refuse(number, "expected 0, 1 or 2, for x, y and z");
    }
    index = static_cast<std::size_t>(number.text[0] - '0');
    tokens.expect("]");
  }
  const JsonValue* const value = problem_size_ ? item_of(*problem_size_, index) : nullptr;
  if (value == nullptr) {
    tokens.refuse(name, fmt::format("ProblemSize has no value {}", index));
  }
  const bool is_itself = value->begin <= name.offset && name.offset < value->end;
  if (is_itself) tokens.refuse(name, "ProblemSize must not depend on itself");
  if (!is_expression(*value)) refuse(*value, "expected a number");
  put("(", *value);
  TokenStream inner(source_, value->begin, value->end, TokenStream::Slashes::operation);
  while (!inner.at_end()) {
    const Token token = inner.next();
    if (token.kind != Token::Kind::number && !token.is("*")) {
      inner.refuse(token, "expected a number, or a product of numbers");
    }
    put_copy(token);
  }
  text_ += ')';
}

std::vector<std::int64_t> T1Text::values_of(const Parameter& parameter) const {
  const SourceText text(source_.name(), text_, source_, parts_);
  TokenStream tokens(text, parameter.begin, text_.find(")\n", parameter.begin),
                     TokenStream::Slashes::operation);
  std::vector<std::int64_t> values = Expression::parse_values(tokens, Division::python);
  if (values.empty()) text.refuse(parameter.begin, parameter.name + " has no values");
  return values;
}

std::int64_t T1Text::whole_number_from(std::size_t place) const {
  const SourceText text(source_.name(), text_, source_, parts_);
  TokenStream tokens(text, place, text_.size(), TokenStream::Slashes::operation);
  return Expression::parse(tokens, Expression::Scope(), Division::python).integer({});
}

double T1Text::number(const JsonValue& value) const {
  return parsed(value, Expression::Scope()).number({});
}

Expression T1Text::generator(const JsonValue& text) const {
  Expression::Scope scope;
  scope.add_variable("i");
  return parsed(text, scope);
}

Expression T1Text::parsed(const JsonValue& value, const Expression::Scope& scope) const {
  if (!is_expression(value)) refuse(value, "expected an expression in quotes, or a number");
  TokenStream tokens(source_, value.begin, value.end, TokenStream::Slashes::operation);
  Expression expression = Expression::parse(tokens, scope, Division::python);
  if (!tokens.at_end()) tokens.refuse_next("the end of the expression");
  return expression;
}

}  // namespace autotune
