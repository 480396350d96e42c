// Conversions between values and columns.
#pragma once

#include <optional>

#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

namespace autotune {

// The value as JSON text. Bytes that are not UTF-8, as a driver's label may have, become question
// marks.
template <typename Value>
std::string json_text(const Value& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
