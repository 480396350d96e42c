// Texts with places for values.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace autotune {

using TextValues = std::map<std::string, std::string>;

// Puts values in the place of their names, @NAME@. Lines between "@if NAME" and "@end" stay only
// where the value is not empty, those behind "@else" where it is; such parts are not nested. Throws
// Error for a name without a value.
[[nodiscard]] std::string filled(std::string_view text, const TextValues& values);

}  // namespace autotune
