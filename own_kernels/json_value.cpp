#include "own_kernels/json_value.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace autotune {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

class JsonParser {
 public:
  explicit JsonParser(const SourceText& source)
      : tokens_(source, 0, source.text().size(), TokenStream::Slashes::comment) {}

  JsonValue parse() {
    JsonValue value = parse_value();
    if (!tokens_.at_end()) tokens_.refuse_next("the end of the file");
    return value;
  }

 private:
  JsonValue parse_value() {
    constexpr std::size_t kDeepest = 100;
    const Token token = tokens_.peek();
    if (++depth_ > kDeepest) tokens_.refuse(token, "this is nested too deeply");
    JsonValue value = token.is("{")                       ? parse_object()
                      : token.is("[")                     ? parse_list()
                      : token.kind == Token::Kind::text   ? parse_text()
                      : token.is("-")                     ? parse_number()
                      : token.kind == Token::Kind::number ? parse_number()
                                                          : parse_word();
    --depth_;
    return value;
  }

  JsonValue parse_object() {
    JsonValue value{.kind = JsonValue::Kind::object, .begin = tokens_.next().offset};
    while (!tokens_.next_if("}")) {
      if (tokens_.peek().kind != Token::Kind::text) tokens_.refuse_next("a name in quotes or '}'");
      std::string name = parse_text().text;
      tokens_.expect(":");
      value.members.emplace_back(std::move(name), parse_value());
      if (!tokens_.next_if(",") && !tokens_.peek().is("}")) tokens_.refuse_next("',' or '}'");
    }
    value.end = tokens_.taken_end();
    return value;
  }

  JsonValue parse_list() {
    JsonValue value{.kind = JsonValue::Kind::list, .begin = tokens_.next().offset};
    while (!tokens_.next_if("]")) {
      value.items.push_back(parse_value());
      if (!tokens_.next_if(",") && !tokens_.peek().is("]")) tokens_.refuse_next("',' or ']'");
    }
    value.end = tokens_.taken_end();
    return value;
  }

  JsonValue parse_text() {
    const Token token = tokens_.next();
    JsonValue value{.kind = JsonValue::Kind::text,
                    .begin = token.offset + 1,
                    .end = token.end_offset() - 1,
                    .text = std::string(token.text)};
    if (token.text.find('\\') == std::string_view::npos) return value;
    const auto read = nlohmann::json::parse('"' + value.text + '"', nullptr, false);
    if (!read.is_string()) tokens_.refuse(token, "an escape of this text is not one of JSON's");
    value.text = read.get<std::string>();
    return value;
  }

  JsonValue parse_number() {
    const std::size_t begin = tokens_.peek().offset;
    tokens_.next_if("-");
    if (tokens_.peek().kind != Token::Kind::number) tokens_.refuse_next("a number");
    tokens_.next();
    const std::size_t end = tokens_.taken_end();
    return {.kind = JsonValue::Kind::number,
            .begin = begin,
            .end = end,
            .text = tokens_.source().text().substr(begin, end - begin)};
  }

  JsonValue parse_word() {
    const Token token = tokens_.peek();
    const bool is_boolean = is_same_word(token.text, "true") || is_same_word(token.text, "false");
    if (token.kind != Token::Kind::identifier ||
        (!is_boolean && !token.is("null") && !token.is("None"))) {
      tokens_.refuse_next("a value");
    }
    tokens_.next();
    return {.kind = is_boolean ? JsonValue::Kind::boolean : JsonValue::Kind::null,
            .begin = token.offset,
            .end = token.end_offset(),
            .text = std::string(token.text)};
  }

  TokenStream tokens_;
  std::size_t depth_ = 0;
};

}  // namespace

bool is_same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

const JsonValue* JsonValue::find(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    for (const auto& [own, value] : members) {
      if (is_same_word(own, name) && !value.is(Kind::null)) return &value;
    }
  }
  return nullptr;
}

JsonValue parse_json(const SourceText& source) {
  return JsonParser(source).parse();
}

}  // namespace autotune
