#include "own_kernels/expression_parser.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace autotune {
namespace {

using Code = ExpressionStep::Code;

struct Comparison {
  std::string_view sign;
  Code code;
};
constexpr std::array<Comparison, 6> kComparisons = {{{"<", Code::less},
                                                     {"<=", Code::less_equal},
                                                     {">", Code::greater},
                                                     {">=", Code::greater_equal},
                                                     {"==", Code::equal},
                                                     {"!=", Code::unequal}}};

struct Function {
  std::string_view name;
  Code code;
  std::size_t fewest;
  std::size_t most;
};
constexpr std::size_t kAny = 1000;
constexpr std::array<Function, 11> kFunctions = {{{"abs", Code::absolute, 1, 1},
                                                  {"ceil", Code::ceiling, 1, 1},
                                                  {"ceil_div", Code::divide_ceiling, 2, 2},
                                                  {"div_ceil", Code::divide_ceiling, 2, 2},
                                                  {"float", Code::to_real, 1, 1},
                                                  {"floor", Code::floor, 1, 1},
                                                  {"int", Code::to_integer, 1, 1},
                                                  {"log2", Code::logarithm, 1, 1},
                                                  {"max", Code::maximum, 2, kAny},
                                                  {"min", Code::minimum, 2, kAny},
                                                  {"round", Code::round_half_away, 1, 1}}};

constexpr std::array<std::string_view, 5> kOperatorWords = {"and", "or", "not", "in", "for"};

// How many more values a stack has after the step.
int growth_of(Code code) {
  if (code <= Code::variable) return 1;
  if (code == Code::jump || (code >= Code::truth && code < Code::less)) return 0;
  return -1;
}

template <class T>
std::optional<T> parsed(std::string_view digits, int base) {
  T value{};
  const char* const end = digits.data() + digits.size();
  std::from_chars_result result{};
  if constexpr (std::is_integral_v<T>) {
    result = std::from_chars(digits.data(), end, value, base);
  } else {
    result = std::from_chars(digits.data(), end, value);
  }
  if (digits.empty() || result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

}  // namespace

// One level of brackets or prefixes. A file may have any number of them, and the stack has an end.
class ExpressionParser::Nesting {
 public:
  explicit Nesting(ExpressionParser& parser) : parser_(parser) {
    constexpr std::size_t kDeepest = 100;
    if (++parser_.nesting_ <= kDeepest) return;
    parser_.tokens_.refuse(parser_.tokens_.peek(),
                           fmt::format("this is nested too deeply: at most {} levels are allowed, "
                                       "name a part of it",
                                       kDeepest));
  }
  ~Nesting() { --parser_.nesting_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  ExpressionParser& parser_;
};

Expression Expression::parse(TokenStream& tokens, const Scope& scope, Division division) {
  return ExpressionParser(tokens, scope, division).parse();
}

Expression ExpressionParser::parse() {
  const std::size_t begin = tokens_.peek().offset;
  program_.sources.push_back(tokens_.source());
  parse_choice();
  program_.slots = 0;
  for (const ExpressionStep& step : program_.steps) {
    if (step.code != Code::variable) continue;
    program_.slots = std::max(program_.slots, static_cast<std::size_t>(step.operand) + 1);
  }
  program_.steps.shrink_to_fit();
  return Expression(std::make_shared<const ExpressionProgram>(std::move(program_)), begin,
                    tokens_.taken_end());
}

std::size_t ExpressionParser::add(Code code, const Token& token, std::int64_t operand) {
  add({.code = code, .place = static_cast<std::uint32_t>(token.offset), .operand = operand});
  return steps().size() - 1;
}

void ExpressionParser::add(ExpressionStep step) {
  constexpr std::size_t kMostSteps = 4000;
  if (steps().size() == kMostSteps) {
    program_.refuse(step, fmt::format("this expression is too long: with the names that it uses, "
                                      "at most {} operations are allowed",
                                      kMostSteps));
  }
  stack_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(stack_) + growth_of(step.code));
  if (stack_ > ExpressionProgram::kHighestStack) {
    program_.refuse(step, "this is nested too deeply together with the names that it uses");
  }
  steps().push_back(step);
}

std::uint16_t ExpressionParser::source_number(const SourceText& source) {
  std::vector<SourceText>& sources = program_.sources;
  const auto found = std::find_if(sources.begin(), sources.end(),
                                  [&](const SourceText& each) { return each.is_same(source); });
  const auto number = static_cast<std::uint16_t>(found - sources.begin());
  if (found == sources.end()) sources.push_back(source);
  return number;
}

void ExpressionParser::add_definition(const ExpressionProgram& other) {
  const auto first = static_cast<std::int64_t>(steps().size());
  for (ExpressionStep step : other.steps) {
    step.source = source_number(other.sources[step.source]);
    if (step.code >= Code::jump && step.code <= Code::chain) step.operand += first;
    if (step.code == Code::constant_text) {
      program_.texts.push_back(other.texts[static_cast<std::size_t>(step.operand)]);
      step.operand = static_cast<std::int64_t>(program_.texts.size()) - 1;
    }
    add(step);
  }
}

void ExpressionParser::parse_choice() {
  const Nesting nesting(*this);
  parse_or();
  const Token question = tokens_.peek();
  if (!tokens_.next_if("?")) return;
  const std::size_t condition = add(Code::jump_if_false, question);
  parse_choice();
  const std::size_t first = add(Code::jump, tokens_.expect(":"));
  --stack_;  // one of both values is there
  land(condition);
  parse_choice();
  land(first);
}

void ExpressionParser::parse_operands(std::string_view sign, std::string_view word, Code keep,
                                      void (ExpressionParser::*operand)()) {
  (this->*operand)();
  std::vector<std::size_t> jumps;
  Token token = tokens_.peek();
  while (tokens_.next_if(sign) || tokens_.next_if(word)) {
    if (!is_python_ && jumps.empty()) add(Code::truth, token);
    jumps.push_back(add(keep, token));
    (this->*operand)();
    if (!is_python_) add(Code::truth, token);
    token = tokens_.peek();
  }
  for (const std::size_t jump : jumps) land(jump);
}

void ExpressionParser::parse_or() {
  parse_operands("||", "or", Code::keep_if_true, &ExpressionParser::parse_and);
}

void ExpressionParser::parse_and() {
  parse_operands("&&", "and", Code::keep_if_false, &ExpressionParser::parse_not);
}

void ExpressionParser::parse_not() {
  const Token token = tokens_.peek();
  if (!tokens_.next_if("not")) return parse_comparison();
  const Nesting nesting(*this);
  parse_not();
  add(Code::inversion, token);
}

void ExpressionParser::parse_comparison() {
  parse_sum();
  const auto comparison = [&] {
    return std::find_if(kComparisons.begin(), kComparisons.end(),
                        [&](const Comparison& each) { return tokens_.peek().is(each.sign); });
  };
  if (comparison() == kComparisons.end()) return parse_members();
  std::vector<std::size_t> jumps;
  for (auto found = comparison(); found != kComparisons.end();) {
    const Token token = tokens_.next();
    parse_sum();
    const auto following = comparison();
    if (following == kComparisons.end()) {
      add(found->code, token);
    } else {
      jumps.push_back(add(Code::chain, token));
      steps().back().comparison = found->code;
    }
    found = following;
  }
  for (const std::size_t jump : jumps) land(jump);
}

void ExpressionParser::parse_members() {
  const Token token = tokens_.peek();
  const bool is_inverted = token.is("not") && tokens_.peek(1).is("in");
  if (is_inverted) tokens_.next();
  if (!tokens_.next_if("in")) return;
  const bool has_brackets = tokens_.next_if("[");
  if (!has_brackets) tokens_.expect("(");
  const std::string_view closing = has_brackets ? "]" : ")";
  add(Code::constant_boolean, token, 0);
  while (!tokens_.next_if(closing)) {
    parse_choice();
    add(Code::member, token);
    if (!tokens_.peek().is(closing)) tokens_.expect(",");
  }
  add(Code::members_done, token);
  if (is_inverted) add(Code::inversion, token);
}

void ExpressionParser::parse_sum() {
  parse_product();
  while (tokens_.peek().is("+") || tokens_.peek().is("-")) {
    const Token token = tokens_.next();
    parse_product();
    add(token.is("+") ? Code::add : Code::subtract, token);
  }
}

void ExpressionParser::parse_product() {
  const auto code_of = [&](const Token& token) -> std::optional<Code> {
    if (token.is("*")) return Code::multiply;
    if (token.is("/")) return is_python_ ? Code::divide_exactly : Code::divide_truncating;
    if (token.is("//")) return Code::divide_floor;
    if (token.is("%")) return is_python_ ? Code::remainder_floor : Code::remainder_truncating;
    return std::nullopt;
  };
  parse_sign();
  while (const std::optional<Code> code = code_of(tokens_.peek())) {
    const Token token = tokens_.next();
    parse_sign();
    add(*code, token);
  }
}

void ExpressionParser::parse_sign() {
  const Token token = tokens_.peek();
  if (!token.is("-") && !token.is("+") && !token.is("!")) return parse_power();
  const Nesting nesting(*this);
  tokens_.next();
  parse_sign();
  if (token.is("-")) add(Code::negation, token);
  if (token.is("!")) add(Code::inversion, token);
}

// -2 ** 2 is -4, and 2 ** -1 is 0.5.
void ExpressionParser::parse_power() {
  parse_value();
  const Token token = tokens_.peek();
  if (!tokens_.next_if("**")) return;
  const Nesting nesting(*this);
  parse_sign();
  add(Code::power, token);
}

void ExpressionParser::parse_value() {
  const Token token = tokens_.peek();
  if (token.kind == Token::Kind::number) {
    parse_number(tokens_.next());
  } else if (token.kind == Token::Kind::text) {
    tokens_.next();
    program_.texts.push_back(std::make_shared<const std::string>(token.text));
    add(Code::constant_text, token, static_cast<std::int64_t>(program_.texts.size()) - 1);
  } else if (tokens_.next_if("(")) {
    parse_choice();
    tokens_.expect(")");
  } else if (token.kind == Token::Kind::identifier &&
             std::find(kOperatorWords.begin(), kOperatorWords.end(), token.text) ==
                 kOperatorWords.end()) {
    parse_name(tokens_.next());
  } else {
    tokens_.refuse_next("a value");
  }
}

void ExpressionParser::parse_name(const Token& token) {
  if (token.is("true") || token.is("True") || token.is("false") || token.is("False")) {
    add(Code::constant_boolean, token, token.is("true") || token.is("True") ? 1 : 0);
    return;
  }
  if (token.is("math") && tokens_.next_if(".")) {
    return parse_call(tokens_.expect_identifier("the name of a function"));
  }
  if (tokens_.peek().is("(")) return parse_call(token);
  const Expression::Scope::Meaning* const meaning = scope_.find(token.text);
  if (meaning == nullptr) {
    const std::string names = scope_.names();
    tokens_.refuse(token, fmt::format("the name {} is unknown: use {}", in_marks(token.text),
                                      names.empty() ? "numbers" : "one of " + names));
  }
  if (const auto* const slot = std::get_if<std::size_t>(meaning)) {
    add(Code::variable, token, static_cast<std::int64_t>(*slot));
  } else {
    add_definition(*std::get<Expression>(*meaning).program_);
  }
}

void ExpressionParser::parse_call(const Token& name) {
  const auto* const function =
      std::find_if(kFunctions.begin(), kFunctions.end(),
                   [&](const Function& each) { return each.name == name.text; });
  if (function == kFunctions.end()) {
    std::string names;
    for (const Function& each : kFunctions) (names += names.empty() ? "" : ", ") += each.name;
    tokens_.refuse(
        name, fmt::format("the function {} is unknown: use one of {}", in_marks(name.text), names));
  }
  const Code code = is_python_ && function->code == Code::round_half_away ? Code::round_half_even
                                                                          : function->code;
  tokens_.expect("(");
  std::size_t count = 0;
  while (!tokens_.peek().is(")")) {
    if (count > 0) tokens_.expect(",");
    parse_choice();
    if (++count > 1 && count <= function->most) add(code, name);
  }
  if (count < function->fewest || count > function->most) {
    tokens_.refuse(name, fmt::format("{} takes {}{} value{} in place of {}", function->name,
                                     function->most == kAny ? "at least " : "", function->fewest,
                                     function->fewest == 1 ? "" : "s", count));
  }
  if (function->most == 1) add(code, name);
  tokens_.expect(")");
}

void ExpressionParser::parse_number(const Token& token) {
  std::string digits(token.text);
  digits.erase(std::remove(digits.begin(), digits.end(), '\''), digits.end());
  const auto drop_suffix = [&](std::string_view letters) {
    digits.erase(digits.find_last_not_of(letters) + 1);
  };
  const bool is_hexadecimal = digits.substr(0, 2) == "0x" || digits.substr(0, 2) == "0X";
  const bool is_real = !is_hexadecimal && digits.find_first_of(".eE") != std::string::npos;
  drop_suffix(is_real ? "fF" : "uUlL");
  if (is_real) {
    const std::optional<double> value = parsed<double>(digits, 10);
    if (value) {
      add(Code::constant_real, token, std::bit_cast<std::int64_t>(*value));
      return;
    }
  } else {
    // 010 is 8 in C, and an error in Python.
    const bool is_octal = !is_hexadecimal && digits.size() > 1 && digits.front() == '0';
    const std::optional<std::int64_t> value =
        is_hexadecimal ? parsed<std::int64_t>(std::string_view(digits).substr(2), 16)
                       : parsed<std::int64_t>(digits, 10);
    if (value && !is_octal) {
      add(Code::constant_integer, token, *value);
      return;
    }
  }
  tokens_.refuse(token, fmt::format("the number {} cannot be read: use whole numbers of 64 bits as "
                                    "16 or 0x10, or numbers as 0.5 or 1e-3",
                                    in_marks(token.text)));
}

}  // namespace autotune
