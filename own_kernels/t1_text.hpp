// Directives that are made of a T1 description. Each part of them knows the place that it is from,
// so that messages about them name the description's line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "own_kernels/expression.hpp"
#include "own_kernels/json_value.hpp"
#include "own_kernels/tokens.hpp"

namespace autotune {

// Functions throw UsageError that begins with FILE:LINE:COLUMN of the description.
class T1Text {
 public:
  // `specification` has the member ProblemSize, which expressions may name.
  T1Text(SourceText source, const JsonValue& specification);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<TextOrigin>& parts() const { return parts_; }
  [[noreturn]] void refuse(const JsonValue& value, const std::string& message) const {
    source_.refuse(value.begin, message);
  }

  // A directive begins with open() and ends with close(); both make a line of one pragma.
  void open(std::string_view directive, const JsonValue& of);
  void close();
  // Adds text that stands for a value as a whole.
  void put(std::string_view text, const JsonValue& of);
  // Adds the text of a value between quotes, for directives that take one.
  void put_quoted(const JsonValue& value);
  // Adds an expression, a text or a number, in which ProblemSize[0] has become its value.
  void put_expression(const JsonValue& value);
  // The same for a number of elements: max(NAME) of a parameter is the largest of its values.
  void put_size(const JsonValue& value);

  // Adds `tune(NAME = values)`.
  void put_parameter(const JsonValue& name, const JsonValue& values);
  [[nodiscard]] bool is_parameter(std::string_view name) const {
    return parameter(name) != nullptr;
  }

  // The value of the expression that was put from this place of text() on, without any names.
  [[nodiscard]] std::int64_t whole_number_from(std::size_t place) const;
  // The value of an expression without any names.
  [[nodiscard]] double number(const JsonValue& value) const;
  // The expression in a text of the description, over the variable i.
  [[nodiscard]] Expression generator(const JsonValue& text) const;

 private:
  [[nodiscard]] Expression parsed(const JsonValue& value, const Expression::Scope& scope) const;

  struct Parameter {
    std::string name;
    std::size_t begin = 0;  // of its values in text()
  };

  [[nodiscard]] const Parameter* parameter(std::string_view name) const;
  [[nodiscard]] std::vector<std::int64_t> values_of(const Parameter& parameter) const;
  void put_tokens(const JsonValue& value, bool is_list, bool is_size);
  // Adds what a name of a size stands for, and takes its tokens; returns false where it is none.
  bool put_named(TokenStream& tokens, bool is_size);
  void put_problem_size(TokenStream& tokens);
  void put_copy(const Token& token);

  SourceText source_;
  const JsonValue* problem_size_;
  std::string text_;
  std::vector<TextOrigin> parts_;
  std::vector<Parameter> parameters_;
};

}  // namespace autotune
