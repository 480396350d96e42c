// An expression as steps of a machine with a stack, which one loop evaluates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "own_kernels/tokens.hpp"

namespace autotune {

// A whole number, a truth value, a double or a text. A truth value counts as 0 or 1.
struct ExpressionValue {
  enum class Kind : std::uint8_t { integer, boolean, real, text };

  [[nodiscard]] static ExpressionValue of(std::int64_t value) {
    ExpressionValue result;
    result.kind = Kind::integer;
    result.integer = value;
    return result;
  }
  [[nodiscard]] static ExpressionValue of(bool value) {
    ExpressionValue result;
    result.kind = Kind::boolean;
    result.integer = value ? 1 : 0;
    return result;
  }
  [[nodiscard]] static ExpressionValue of(double value) {
    ExpressionValue result;
    result.kind = Kind::real;
    result.real = value;
    return result;
  }

  [[nodiscard]] bool is_whole() const { return kind <= Kind::boolean; }
  [[nodiscard]] bool is_text() const { return kind == Kind::text; }
  [[nodiscard]] double number() const {
    return kind == Kind::real ? real : static_cast<double>(integer);
  }

  Kind kind;  // has no initial value, since an evaluation makes a stack of them
  union {
    std::int64_t integer;
    double real;
    const std::string* text;
  };
};

struct ExpressionStep {
  // Those with one operand replace the value on top, those with two replace the two on top.
  enum class Code : std::uint8_t {
    constant_integer,  // operand: the value
    constant_boolean,
    constant_real,  // operand: the bits
    constant_text,  // operand: which text
    variable,       // operand: the slot
    // Control.
    jump,
    jump_if_false,
    keep_if_false,  // jumps if the value on top is false, and takes it away otherwise
    keep_if_true,
    chain,         // a < b < c: a false comparison is the result and jumps; a true one leaves b
    member,        // x, found, item: whether x was found or equals the item
    members_done,  // x, found: found
    // One operand.
    truth,
    negation,
    inversion,
    ceiling,
    floor,
    round_half_away,
    round_half_even,
    absolute,
    logarithm,
    to_real,
    to_integer,
    // Two operands.
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    unequal,
    add,
    subtract,
    multiply,
    divide_truncating,
    divide_exactly,
    divide_floor,
    divide_ceiling,
    remainder_truncating,
    remainder_floor,
    power,
    minimum,
    maximum,
  };

  Code code;
  Code comparison = Code::less;  // of a chain
  std::uint16_t source = 0;      // which text the place is in
  std::uint32_t place = 0;
  std::int64_t operand = 0;  // a jump's is the number of the next step
};

// What an expression was parsed to.
struct ExpressionProgram {
  // A stack is as high as an expression is nested.
  static constexpr std::size_t kHighestStack = 250;

  std::vector<ExpressionStep> steps;
  std::vector<SourceText> sources;
  std::vector<std::shared_ptr<const std::string>> texts;
  std::size_t highest_stack = 0;
  std::size_t slots = 0;  // as many values as an evaluation reads at most

  // Throws UsageError with the place of what cannot be computed.
  [[nodiscard]] ExpressionValue value(std::span<const std::int64_t> values) const;

  [[noreturn]] void refuse(const ExpressionStep& step, const std::string& message) const {
    sources[step.source].refuse(step.place, message);
  }
};

// The value for a message.
[[nodiscard]] std::string text_of(const ExpressionValue& value);

// The double without its fraction; nothing where 64 bits cannot hold it.
[[nodiscard]] bool whole_part(double value, std::int64_t& whole);

}  // namespace autotune
