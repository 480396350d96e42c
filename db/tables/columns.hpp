// Conversions between values and columns.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

namespace autotune {

// The value as JSON text. Bytes that are not UTF-8, as a driver's label may have, become question
// marks.
template <typename Value>
std::string json_text(const Value& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The inverse. Throws Error for text that is longer than any that is written, which could take a
// long time and much memory.
inline nlohmann::json json_from(const std::string& text) {
  constexpr std::size_t kMostBytes = 4 << 20;
  if (text.size() > kMostBytes) throw Error("a text of JSON has more than 4 MiB");
  return nlohmann::json::parse(text);
}

// Returns what `read` returns, or nullopt when the row differs from what was written.
template <typename Read>
auto unless_damaged(Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace autotune
