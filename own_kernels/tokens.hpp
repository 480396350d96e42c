// Texts that are read token by token: the pragmas and kernels of a file, and expressions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace autotune {

// A part of a text that was made of another text: it reaches from `begin` to the next part.
struct TextOrigin {
  std::size_t begin = 0;
  std::size_t place = 0;  // in the other text, that all of it stands for
};

// A text with its place of origin. Messages about it begin with "FILE:LINE:COLUMN: ". Copies share
// the text, so views of it hold as long as one copy does.
class SourceText {
 public:
  SourceText(std::string name, std::string text);
  // A text whose end was made of another text. From the first part on, places are those of the
  // other text. The parts are in order.
  SourceText(std::string name, std::string text, const SourceText& other,
             std::vector<TextOrigin> parts);

  [[nodiscard]] const std::string& name() const { return content_->name; }
  [[nodiscard]] const std::string& text() const { return content_->text; }

  // "reduce.cu:12:8" of a byte of the text; lines and columns count from 1, columns count bytes.
  [[nodiscard]] std::string where(std::size_t offset) const;
  // Throws UsageError: "reduce.cu:12:8: " and the message.
  [[noreturn]] void refuse(std::size_t offset, const std::string& message) const;

  [[nodiscard]] bool is_same(const SourceText& other) const { return content_ == other.content_; }

 private:
  struct Content {
    std::string name;
    std::string text;
    std::shared_ptr<const Content> other = {};
    std::vector<TextOrigin> parts = {};  // of the other text
  };
  [[nodiscard]] static std::string where(const Content& content, std::size_t offset);

  std::shared_ptr<const Content> content_;
};

struct Token {
  enum class Kind : std::uint8_t { identifier, number, text, punctuation, end };

  Kind kind = Kind::end;
  std::string_view text;   // the raw bytes; those between the quotes of a text
  std::size_t offset = 0;  // of the first byte, which is the quote of a text

  [[nodiscard]] bool is(std::string_view spelling) const {
    return (kind == Kind::punctuation || kind == Kind::identifier) && text == spelling;
  }
  [[nodiscard]] std::size_t end_offset() const {
    return offset + text.size() + (kind == Kind::text ? 2 : 0);
  }
};

// The tokens of a part of a text. Line ends, also those behind a backslash, are blanks, and so are
// /* comments */. A copy is a place to come back to.
class TokenStream {
 public:
  // Two slashes begin a comment in source code, and are an operator in an expression. `**` is an
  // operator in an expression too, where source code has pointers to pointers.
  enum class Slashes : std::uint8_t { comment, operation };

  TokenStream(const SourceText& source, std::size_t begin, std::size_t end, Slashes slashes);

  // The token that comes after `ahead` others; the last one is of kind end, again and again. It
  // stays until next() takes it. Throws UsageError where a text or a comment does not end.
  const Token& peek(std::size_t ahead = 0);
  Token next();
  // Takes the next token if it is punctuation or an identifier of this spelling.
  bool next_if(std::string_view text);
  // Takes the next token, and refuses all others: "expected ')' in place of 'x'".
  Token expect(std::string_view text);
  // `what` is in the message: "expected the name of a parameter in place of '3'".
  Token expect_identifier(std::string_view what);
  [[nodiscard]] bool at_end() { return peek().kind == Token::Kind::end; }

  [[noreturn]] void refuse(const Token& token, const std::string& message) const;
  // Refuses the next token: "expected `what` in place of 'x'".
  [[noreturn]] void refuse_next(std::string_view what);

  [[nodiscard]] const SourceText& source() const { return source_; }
  // The end of the token that was taken last.
  [[nodiscard]] std::size_t taken_end() const { return taken_end_; }

 private:
  void skip_blanks();
  void skip_comment(std::size_t opening);
  [[nodiscard]] Token scan();
  [[nodiscard]] std::size_t end_of_text() const;
  [[nodiscard]] std::size_t end_of_number() const;
  [[nodiscard]] std::size_t end_of_punctuation() const;
  [[nodiscard]] char at(std::size_t offset) const;

  SourceText source_;
  std::size_t place_;  // of the first byte that was not scanned
  std::size_t end_;
  Slashes slashes_;
  std::deque<Token> scanned_;
  std::size_t taken_end_;
};

// A text in quotes for a message, shortened where it is long.
[[nodiscard]] std::string in_marks(std::string_view text);

}  // namespace autotune
