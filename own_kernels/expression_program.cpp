#include "own_kernels/expression_program.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

using Code = ExpressionStep::Code;
using Value = ExpressionValue;

std::string_view sign_of(Code code) {
  switch (code) {
    case Code::less:
      return "<";
    case Code::less_equal:
      return "<=";
    case Code::greater:
      return ">";
    case Code::greater_equal:
      return ">=";
    case Code::add:
      return "+";
    case Code::negation:
    case Code::subtract:
      return "-";
    case Code::multiply:
      return "*";
    case Code::divide_floor:
      return "//";
    case Code::remainder_truncating:
    case Code::remainder_floor:
      return "%";
    case Code::power:
      return "**";
    default:
      return "/";
  }
}

// One step of an evaluation, which refuses what has no value.
struct Computation {
  const ExpressionProgram& program;
  const ExpressionStep& step;

  [[noreturn]] void refuse_overflow(const Value& a, const Value& b) const {
    program.refuse(step, fmt::format("{} {} {} does not fit 64 bits: use smaller values",
                                     text_of(a), sign_of(step.code), text_of(b)));
  }
  [[noreturn]] void refuse_zero(const Value& a) const {
    program.refuse(step, fmt::format("{} {} 0 has no value: a divisor must not be 0", text_of(a),
                                     sign_of(step.code)));
  }
  [[noreturn]] void refuse_text(const Value& value) const {
    program.refuse(step, fmt::format("{} is a text: expected a number", text_of(value)));
  }

  [[nodiscard]] Value real(double value, const Value& a, const Value& b) const {
    if (!std::isfinite(value)) {
      program.refuse(step, fmt::format("{} {} {} has no finite value: use others", text_of(a),
                                       sign_of(step.code), text_of(b)));
    }
    return Value::of(value);
  }
  [[nodiscard]] Value whole(double value) const {
    std::int64_t result = 0;
    if (whole_part(value, result)) return Value::of(result);
    program.refuse(step, fmt::format("{} does not fit 64 bits: use smaller values", value));
  }

  [[nodiscard]] Value constant() const {
    if (step.code == Code::constant_integer) return Value::of(step.operand);
    if (step.code == Code::constant_boolean) return Value::of(step.operand != 0);
    if (step.code == Code::constant_real) return Value::of(std::bit_cast<double>(step.operand));
    Value result;
    result.kind = Value::Kind::text;
    result.text = program.texts[static_cast<std::size_t>(step.operand)].get();
    return result;
  }

  [[nodiscard]] bool truth(const Value& value) const {
    if (value.is_text()) refuse_text(value);
    return value.kind == Value::Kind::real ? value.real != 0 : value.integer != 0;
  }

  template <class T>
  [[nodiscard]] static bool ordered(Code code, const T& a, const T& b) {
    switch (code) {
      case Code::less:
        return a < b;
      case Code::less_equal:
        return a <= b;
      case Code::greater:
        return a > b;
      case Code::greater_equal:
        return a >= b;
      case Code::equal:
        return a == b;
      default:
        return a != b;
    }
  }
  // A text differs from all numbers, and has no order.
  [[nodiscard]] bool holds(Code code, const Value& a, const Value& b) const {
    if (a.is_whole() && b.is_whole()) return ordered(code, a.integer, b.integer);
    if (!a.is_text() && !b.is_text()) return ordered(code, a.number(), b.number());
    if (code != Code::equal && code != Code::unequal) refuse_text(a.is_text() ? a : b);
    const bool same = a.is_text() && b.is_text() && *a.text == *b.text;
    return same == (code == Code::equal);
  }

  [[nodiscard]] Value divided(const Value& a, const Value& b) const;
  [[nodiscard]] Value integer_power(const Value& a, const Value& b) const;
  [[nodiscard]] Value of_whole(const Value& a, const Value& b) const;
  [[nodiscard]] Value of_reals(const Value& a, const Value& b) const;
  [[nodiscard]] Value of_two(const Value& a, const Value& b) const;
  [[nodiscard]] Value of_one(const Value& a) const;
};

Value Computation::divided(const Value& a, const Value& b) const {
  if (b.integer == 0) refuse_zero(a);
  if (b.integer == -1 && a.integer == std::numeric_limits<std::int64_t>::min()) {
    if (step.code == Code::remainder_floor || step.code == Code::remainder_truncating) {
      return Value::of(std::int64_t{0});
    }
    refuse_overflow(a, b);
  }
  const std::int64_t quotient = a.integer / b.integer;
  const std::int64_t rest = a.integer % b.integer;
  const bool is_negative = (rest < 0) != (b.integer < 0);  // of the exact quotient
  switch (step.code) {
    case Code::divide_floor:
      return Value::of(quotient - (rest != 0 && is_negative ? 1 : 0));
    case Code::divide_ceiling:
      return Value::of(quotient + (rest != 0 && !is_negative ? 1 : 0));
    case Code::remainder_floor:
      return Value::of(rest != 0 && is_negative ? rest + b.integer : rest);
    case Code::remainder_truncating:
      return Value::of(rest);
    default:
      return Value::of(quotient);
  }
}

Value Computation::integer_power(const Value& a, const Value& b) const {
  std::int64_t result = 1;
  std::int64_t factor = a.integer;
  for (std::int64_t rest = b.integer; rest > 0; rest /= 2) {
    if (rest % 2 == 1 && __builtin_mul_overflow(result, factor, &result)) refuse_overflow(a, b);
    // The last square is not used. 0, 1 and -1 are the only factors of long products.
    if (rest > 1 && __builtin_mul_overflow(factor, factor, &factor)) refuse_overflow(a, b);
  }
  return Value::of(result);
}

Value Computation::of_whole(const Value& a, const Value& b) const {
  std::int64_t result = 0;
  switch (step.code) {
    case Code::add:
      if (__builtin_add_overflow(a.integer, b.integer, &result)) refuse_overflow(a, b);
      return Value::of(result);
    case Code::subtract:
      if (__builtin_sub_overflow(a.integer, b.integer, &result)) refuse_overflow(a, b);
      return Value::of(result);
    case Code::multiply:
      if (__builtin_mul_overflow(a.integer, b.integer, &result)) refuse_overflow(a, b);
      return Value::of(result);
    case Code::minimum:
      return Value::of(std::min(a.integer, b.integer));
    case Code::maximum:
      return Value::of(std::max(a.integer, b.integer));
    case Code::power:
      return b.integer >= 0 ? integer_power(a, b) : of_reals(a, b);
    case Code::divide_exactly:
      return of_reals(a, b);
    default:
      return divided(a, b);
  }
}

Value Computation::of_reals(const Value& a, const Value& b) const {
  const double x = a.number();
  const double y = b.number();
  switch (step.code) {
    case Code::add:
      return real(x + y, a, b);
    case Code::subtract:
      return real(x - y, a, b);
    case Code::multiply:
      return real(x * y, a, b);
    case Code::minimum:
      return y < x ? b : a;
    case Code::maximum:
      return y > x ? b : a;
    case Code::power:
      return real(std::pow(x, y), a, b);
    default:
      break;
  }
  if (y == 0) refuse_zero(a);
  double rest = std::fmod(x, y);
  switch (step.code) {
    case Code::remainder_truncating:
      return Value::of(rest);
    case Code::divide_ceiling:
      return whole(std::ceil(x / y));
    case Code::divide_truncating:
    case Code::divide_exactly:
      return real(x / y, a, b);
    default:
      break;
  }
  if (rest != 0 && (rest < 0) != (y < 0)) rest += y;
  if (step.code == Code::remainder_floor) return Value::of(rest);
  return real(std::round((x - rest) / y), a, b);
}

Value Computation::of_two(const Value& a, const Value& b) const {
  if (step.code <= Code::unequal) return Value::of(holds(step.code, a, b));
  if (a.is_whole() && b.is_whole()) return of_whole(a, b);
  if (a.is_text() || b.is_text()) refuse_text(a.is_text() ? a : b);
  return of_reals(a, b);
}

Value Computation::of_one(const Value& a) const {
  if (step.code == Code::truth) return Value::of(truth(a));
  if (step.code == Code::inversion) return Value::of(!truth(a));
  if (a.is_text()) refuse_text(a);
  const bool is_lowest = a.is_whole() && a.integer == std::numeric_limits<std::int64_t>::min();
  switch (step.code) {
    case Code::to_real:
      return Value::of(a.number());
    case Code::logarithm:
      if (a.number() <= 0) {
        program.refuse(step, fmt::format("log2({}) has no value: use one above 0", text_of(a)));
      }
      return Value::of(std::log2(a.number()));
    case Code::negation:
      if (!a.is_whole()) return Value::of(-a.real);
      if (is_lowest) refuse_overflow(Value::of(std::int64_t{0}), a);
      return Value::of(-a.integer);
    case Code::absolute:
      if (!a.is_whole()) return Value::of(std::fabs(a.real));
      if (is_lowest) program.refuse(step, "abs(" + text_of(a) + ") does not fit 64 bits");
      return Value::of(a.integer < 0 ? -a.integer : a.integer);
    default:
      break;
  }
  if (a.is_whole()) return Value::of(a.integer);
  switch (step.code) {
    case Code::ceiling:
      return whole(std::ceil(a.real));
    case Code::floor:
      return whole(std::floor(a.real));
    case Code::round_half_away:
      return whole(std::round(a.real));
    case Code::round_half_even:
      return whole(std::nearbyint(a.real));
    default:
      return whole(std::trunc(a.real));
  }
}

}  // namespace

bool whole_part(double value, std::int64_t& whole) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (!(value >= -kEnd && value < kEnd)) return false;
  whole = static_cast<std::int64_t>(value);
  return true;
}

std::string text_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::integer:
      return fmt::format("{}", value.integer);
    case Value::Kind::boolean:
      return value.integer != 0 ? "true" : "false";
    case Value::Kind::real:
      return fmt::format("{}", value.real);
    case Value::Kind::text:
      break;
  }
  return in_marks(*value.text);
}

Value ExpressionProgram::value(std::span<const std::int64_t> values) const {
  if (values.size() < slots) throw Error("an expression lacks values of its variables");
  Value stack[kHighestStack + 1];  // the first one is below the lowest value
  Value* top = stack;
  const std::size_t end = steps.size();
  for (std::size_t at = 0; at < end; ++at) {
    const ExpressionStep& step = steps[at];
    const Computation computation{*this, step};
    const std::size_t before_target = static_cast<std::size_t>(step.operand) - 1;
    switch (step.code) {
      case Code::variable:
        *++top = Value::of(values[static_cast<std::size_t>(step.operand)]);
        break;
      case Code::constant_integer:
      case Code::constant_boolean:
      case Code::constant_real:
      case Code::constant_text:
        *++top = computation.constant();
        break;
      case Code::jump:
        at = before_target;
        break;
      case Code::jump_if_false:
        if (!computation.truth(*top--)) at = before_target;
        break;
      case Code::keep_if_false:
      case Code::keep_if_true:
        if (computation.truth(*top) == (step.code == Code::keep_if_true)) {
          at = before_target;
        } else {
          --top;
        }
        break;
      case Code::chain: {
        const bool holds = computation.holds(step.comparison, top[-1], top[0]);
        --top;
        *top = holds ? top[1] : Value::of(false);
        if (!holds) at = before_target;
        break;
      }
      case Code::member:
        --top;
        if (computation.holds(Code::equal, top[-1], top[1])) *top = Value::of(true);
        break;
      case Code::members_done:
        --top;
        *top = top[1];
        break;
      default:
        if (step.code < Code::less) {
          *top = computation.of_one(*top);
        } else {
          --top;
          *top = computation.of_two(top[0], top[1]);
        }
    }
  }
  return *top;
}

}  // namespace autotune
