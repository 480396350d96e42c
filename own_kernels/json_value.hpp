// JSON whose values know their places, for messages. People write such files by hand, so commas
// before a closing bracket, comments, texts in single quotes, and Python's True, False and None are
// read too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "own_kernels/tokens.hpp"

namespace autotune {

struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, number, text, list, object };

  Kind kind = Kind::null;
  // Of the value in the file; of a text without its quotes.
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text = {};  // a text without escapes; what stands there for numbers and booleans
  std::vector<JsonValue> items = {};                            // of a list
  std::vector<std::pair<std::string, JsonValue>> members = {};  // of an object

  [[nodiscard]] bool is(Kind wanted) const { return kind == wanted; }
  // The member of an object that has one of these names, in whatever case; null where there is
  // none, where it is null, and for what is no object.
  [[nodiscard]] const JsonValue* find(std::initializer_list<std::string_view> names) const;
};

// Returns whether two texts differ in the case of their letters at most.
[[nodiscard]] bool is_same_word(std::string_view a, std::string_view b);

// Throws UsageError with the place of what cannot be read.
[[nodiscard]] JsonValue parse_json(const SourceText& source);

}  // namespace autotune
