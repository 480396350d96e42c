#include "own_kernels/tokens.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Bytes above 127 are parts of letters in UTF-8, which names may have.
bool is_name_part(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

SourceText::SourceText(std::string name, std::string text)
    : content_(std::make_shared<const Content>(Content{std::move(name), std::move(text)})) {}

SourceText::SourceText(std::string name, std::string text, const SourceText& other,
                       std::vector<TextOrigin> parts)
    : content_(std::make_shared<const Content>(
          Content{std::move(name), std::move(text), other.content_, std::move(parts)})) {}

std::string SourceText::where(std::size_t offset) const {
  return where(*content_, offset);
}

std::string SourceText::where(const Content& content, std::size_t offset) {
  const auto behind = std::ranges::upper_bound(content.parts, offset, {}, &TextOrigin::begin);
  if (behind != content.parts.begin()) {
    const TextOrigin& part = *std::prev(behind);
    return where(*content.other, part.place);
  }
  const std::string_view before = std::string_view(content.text).substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0, as it should be
  return fmt::format("{}:{}:{}", content.name, std::count(before.begin(), before.end(), '\n') + 1,
                     before.size() - line_begin + 1);
}

void SourceText::refuse(std::size_t offset, const std::string& message) const {
  throw UsageError(where(offset) + ": " + message);
}

TokenStream::TokenStream(const SourceText& source, std::size_t begin, std::size_t end,
                         Slashes slashes)
    : source_(source),
      place_(begin),
      end_(std::min(end, source.text().size())),
      slashes_(slashes),
      taken_end_(begin) {}

const Token& TokenStream::peek(std::size_t ahead) {
  while (scanned_.size() <= ahead) scanned_.push_back(scan());
  return scanned_[ahead];
}

Token TokenStream::next() {
  const Token token = peek();
  scanned_.pop_front();
  if (token.kind != Token::Kind::end) taken_end_ = token.end_offset();
  return token;
}

bool TokenStream::next_if(std::string_view text) {
  if (!peek().is(text)) return false;
  next();
  return true;
}

Token TokenStream::expect(std::string_view text) {
  if (!peek().is(text)) refuse_next(in_marks(text));
  return next();
}

Token TokenStream::expect_identifier(std::string_view what) {
  if (peek().kind != Token::Kind::identifier) refuse_next(what);
  return next();
}

void TokenStream::refuse(const Token& token, const std::string& message) const {
  source_.refuse(token.offset, message);
}

void TokenStream::refuse_next(std::string_view what) {
  const Token& token = peek();
  refuse(token, fmt::format("expected {} in place of {}", what,
                            token.kind == Token::Kind::end ? "the end" : in_marks(token.text)));
}

// Bytes outside of the part read as 0, which belongs to no token of several bytes.
char TokenStream::at(std::size_t offset) const {
  return offset < end_ ? source_.text()[offset] : '\0';
}

void TokenStream::skip_blanks() {
  for (; place_ < end_; ++place_) {
    const char c = at(place_);
    const char following = at(place_ + 1);
    if (c == '/' && (following == '*' || (following == '/' && slashes_ == Slashes::comment))) {
      skip_comment(place_);
    } else if (c == '\\' && (following == '\n' || (following == '\r' && at(place_ + 2) == '\n'))) {
      ++place_;
    } else if (!is_blank(c)) {
      return;
    }
  }
}

// Leaves the place at the last byte of the comment.
void TokenStream::skip_comment(std::size_t opening) {
  const std::string_view part = std::string_view(source_.text()).substr(0, end_);
  if (part[opening + 1] == '*') {
    const std::size_t closing = part.find("*/", opening + 2);
    if (closing == std::string_view::npos) {
      source_.refuse(opening, "this comment does not end: close it by */");
    }
    place_ = closing + 1;
    return;
  }
  for (place_ = opening + 2; place_ < end_ && part[place_] != '\n'; ++place_) {
    if (part[place_] == '\\') place_ += at(place_ + 1) == '\r' ? 2 : 1;  // the comment may go on
  }
}

Token TokenStream::scan() {
  skip_blanks();
  const auto token = [&](Token::Kind kind, std::size_t end) {
    const Token found{kind, std::string_view(source_.text()).substr(place_, end - place_), place_};
    place_ = end;
    return found;
  };
  if (place_ >= end_) return {Token::Kind::end, {}, end_};
  const char c = at(place_);
  if (c == '"' || c == '\'') {
    Token text = token(Token::Kind::text, end_of_text());
    text.text = text.text.substr(1, text.text.size() - 2);
    return text;
  }
  if (is_digit(c) || (c == '.' && is_digit(at(place_ + 1)))) {
    return token(Token::Kind::number, end_of_number());
  }
  if (is_name_part(c)) {
    std::size_t end = place_ + 1;
    while (is_name_part(at(end))) ++end;
    return token(Token::Kind::identifier, end);
  }
  return token(Token::Kind::punctuation, end_of_punctuation());
}

std::size_t TokenStream::end_of_text() const {
  const char quote = at(place_);
  for (std::size_t end = place_ + 1; end < end_ && at(end) != '\n'; ++end) {
    if (at(end) == quote) return end + 1;
    if (at(end) == '\\') ++end;
  }
  source_.refuse(place_, fmt::format("this text does not end: close it by {}", quote));
}

// As the preprocessor sees numbers: letters, points, ' between digits, and the sign of an exponent.
std::size_t TokenStream::end_of_number() const {
  const bool is_decimal = at(place_) != '0' || (at(place_ + 1) != 'x' && at(place_ + 1) != 'X');
  std::size_t end = place_ + 1;
  while (true) {
    const char c = at(end);
    const char before = at(end - 1);
    const bool is_sign = (c == '+' || c == '-') && is_decimal && (before == 'e' || before == 'E');
    const bool is_separator = c == '\'' && is_name_part(at(end + 1));
    if (!is_name_part(c) && c != '.' && !is_sign && !is_separator) return end;
    ++end;
  }
}

std::size_t TokenStream::end_of_punctuation() const {
  constexpr std::array<std::string_view, 11> kLong = {
      "...", "::", "->", "==", "!=", "<=", ">=", "&&", "||", "**", "//"};
  const std::string_view rest = std::string_view(source_.text()).substr(place_, end_ - place_);
  for (const std::string_view punctuation : kLong) {
    if (punctuation == "**" && slashes_ == Slashes::comment) continue;
    if (rest.substr(0, punctuation.size()) == punctuation) return place_ + punctuation.size();
  }
  return place_ + 1;
}

std::string in_marks(std::string_view text) {
  constexpr std::size_t kMostBytes = 40;
  return fmt::format("'{}{}'", text.substr(0, kMostBytes), text.size() > kMostBytes ? "..." : "");
}

}  // namespace autotune
