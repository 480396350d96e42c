// Turns the tokens of an expression into a program, by descent.
#pragma once

#include <string>
#include <string_view>

#include "own_kernels/expression.hpp"
#include "own_kernels/expression_program.hpp"

namespace autotune {

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, const Expression::Scope& scope, Division division)
      : tokens_(tokens), scope_(scope), is_python_(division == Division::python) {}

  [[nodiscard]] Expression parse();

 private:
  using Code = ExpressionStep::Code;
  class Nesting;

  // From the operator that binds least to a value.
  void parse_choice();
  void parse_or();
  void parse_and();
  void parse_not();
  void parse_comparison();
  void parse_members();
  void parse_sum();
  void parse_product();
  void parse_sign();
  void parse_power();
  void parse_value();
  void parse_name(const Token& token);
  void parse_call(const Token& name);
  void parse_number(const Token& token);
  // Parses operands of `and` or `or`, which later ones are evaluated only if `keep` does not jump.
  void parse_operands(std::string_view sign, std::string_view word, Code keep,
                      void (ExpressionParser::*operand)());

  // Adds a step whose place is the token's, and returns its number.
  std::size_t add(Code code, const Token& token, std::int64_t operand = 0);
  void add(ExpressionStep step);
  // Has the step jump behind the last one.
  void land(std::size_t step) { steps()[step].operand = static_cast<std::int64_t>(steps().size()); }
  void add_definition(const ExpressionProgram& other);
  [[nodiscard]] std::uint16_t source_number(const SourceText& source);
  std::vector<ExpressionStep>& steps() { return program_.steps; }

  TokenStream& tokens_;
  const Expression::Scope& scope_;
  bool is_python_;
  ExpressionProgram program_;
  std::size_t stack_ = 0;    // how many values the steps so far leave
  std::size_t nesting_ = 0;  // of calls of this parser
};

}  // namespace autotune
