// Expressions over whole numbers: a constraint, a launch geometry, a size of a buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "own_kernels/tokens.hpp"

namespace autotune {

struct ExpressionProgram;
struct ExpressionValue;

// The language whose rules for `/`, `%`, `and`, `or` and round() hold. C's `/` of two whole numbers
// truncates and its `%` has the sign of the first; Python's `/` is exact and its `%` has the sign
// of the second, its `and` and `or` return one of their operands, its round() goes to even numbers.
enum class Division : std::uint8_t { truncating, python };

// Whole numbers have 64 bits, and a result that does not fit is refused. Truth values count as 0 or
// 1. All functions that evaluate get the values of the scope's variables by slot, and throw
// UsageError with the place of what cannot be computed. Immutable; copies share their content.
class Expression {
 public:
  class Scope;

  // Parses up to the first token that cannot go on, such as ',' or ')'. Throws UsageError with the
  // place of what is wrong, unknown names and wrong numbers of arguments among it.
  [[nodiscard]] static Expression parse(TokenStream& tokens, const Scope& scope,
                                        Division division = Division::truncating);

  // Reads the values of a parameter up to the first token that cannot go on: constant expressions,
  // range(a, b, step), [lists] and (tuples), list(...) of them, [2**i for i in range(1, 5)], and
  // sums of lists. The end of a range is not among its values. Throws UsageError as parse() does.
  [[nodiscard]] static std::vector<std::int64_t> parse_values(
      TokenStream& tokens, Division division = Division::truncating);

  // The slots that its value depends on, in order.
  [[nodiscard]] const std::vector<std::size_t>& variables() const { return variables_; }

  // The value as a whole number; refuses 2.5.
  [[nodiscard]] std::int64_t integer(std::span<const std::int64_t> values) const;
  [[nodiscard]] double number(std::span<const std::int64_t> values) const;
  [[nodiscard]] bool truth(std::span<const std::int64_t> values) const;
  // A text as it stands between its quotes, a number in decimal, or "true" and "false".
  [[nodiscard]] std::string text(std::span<const std::int64_t> values) const;

  // Its text on one line, for messages and names of constraints.
  [[nodiscard]] const std::string& source() const { return source_; }
  // Throws UsageError with the place where the expression begins.
  [[noreturn]] void refuse(const std::string& message) const;

 private:
  friend class ExpressionParser;
  // Its text is that of the program's first source from `begin` to `end`.
  Expression(std::shared_ptr<const ExpressionProgram> program, std::size_t begin, std::size_t end);

  std::shared_ptr<const ExpressionProgram> program_;
  std::vector<std::size_t> variables_;
  std::size_t begin_;
  std::string source_;
};

// The names that expressions may use. A name is a variable with a slot, or a definition, which is
// another expression over the same variables.
class Expression::Scope {
 public:
  using Meaning = std::variant<std::size_t, Expression>;

  // Returns the slot: 0 for the first variable, 1 for the second. Throws Error where the name is
  // known, so ask find() first.
  std::size_t add_variable(const std::string& name);
  // Throws Error where the name is known, and UsageError for more than 1000 definitions.
  void add_definition(const std::string& name, Expression value);

  // Null where the name is unknown.
  [[nodiscard]] const Meaning* find(std::string_view name) const;
  // The variables' names by slot.
  [[nodiscard]] const std::vector<std::string>& variables() const { return variables_; }
  // All names, for messages: "a, b, c".
  [[nodiscard]] std::string names() const;

 private:
  std::map<std::string, Meaning, std::less<>> meanings_;
  std::vector<std::string> variables_;
};

}  // namespace autotune
