#include "own_kernels/expression.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "own_kernels/expression_program.hpp"

namespace autotune {
namespace {

// The text on one line.
std::string one_line(std::string_view text) {
  std::string line;
  bool is_between = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_continued =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '\n' || text[i + 1] == '\r');
    if (is_continued || text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r')) {
      is_between = true;
      continue;
    }
    if (is_between) line += ' ';
    is_between = false;
    line += text[i];
  }
  return line;
}

}  // namespace

Expression::Expression(std::shared_ptr<const ExpressionProgram> program, std::size_t begin,
                       std::size_t end)
    : program_(std::move(program)),
      begin_(begin),
      source_(
          one_line(std::string_view(program_->sources.front().text()).substr(begin, end - begin))) {
  for (const ExpressionStep& step : program_->steps) {
    if (step.code != ExpressionStep::Code::variable) continue;
    variables_.push_back(static_cast<std::size_t>(step.operand));
  }
  std::sort(variables_.begin(), variables_.end());
  variables_.erase(std::unique(variables_.begin(), variables_.end()), variables_.end());
}

void Expression::refuse(const std::string& message) const {
  program_->sources.front().refuse(begin_, message);
}

std::int64_t Expression::integer(std::span<const std::int64_t> values) const {
  const ExpressionValue value = program_->value(values);
  if (value.is_whole()) return value.integer;
  std::int64_t whole = 0;
  if (!value.is_text() && whole_part(value.real, whole) &&
      static_cast<double>(whole) == value.real) {
    return whole;
  }
  refuse(
      fmt::format("{} is {}: expected a whole number of at most 64 bits", source_, text_of(value)));
}

double Expression::number(std::span<const std::int64_t> values) const {
  const ExpressionValue value = program_->value(values);
  if (value.is_text()) refuse(fmt::format("{} is a text: expected a number", source_));
  return value.number();
}

bool Expression::truth(std::span<const std::int64_t> values) const {
  const ExpressionValue value = program_->value(values);
  if (value.is_whole()) return value.integer != 0;
  if (value.is_text()) refuse(fmt::format("{} is a text: expected a condition", source_));
  return value.real != 0;
}

std::string Expression::text(std::span<const std::int64_t> values) const {
  const ExpressionValue value = program_->value(values);
  return value.is_text() ? *value.text : text_of(value);
}

std::size_t Expression::Scope::add_variable(const std::string& name) {
  if (!meanings_.emplace(name, variables_.size()).second) throw Error(name + " is named twice");
  variables_.push_back(name);
  return variables_.size() - 1;
}

void Expression::Scope::add_definition(const std::string& name, Expression value) {
  constexpr std::size_t kMostDefinitions = 1000;
  if (meanings_.size() - variables_.size() == kMostDefinitions) {
    value.refuse(fmt::format("{} is one name too many: at most {} may be defined", in_marks(name),
                             kMostDefinitions));
  }
  if (!meanings_.emplace(name, std::move(value)).second) throw Error(name + " is named twice");
}

const Expression::Scope::Meaning* Expression::Scope::find(std::string_view name) const {
  const auto found = meanings_.find(name);
  return found == meanings_.end() ? nullptr : &found->second;
}

std::string Expression::Scope::names() const {
  constexpr std::size_t kMostNames = 20;
  std::string names;
  std::size_t count = 0;
  for (const auto& [name, meaning] : meanings_) {
    if (++count > kMostNames) return names + ", ...";
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

}  // namespace autotune
