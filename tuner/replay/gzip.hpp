// gzip, in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace autotune {

// A gzip file with these bytes, as small as it gets.
[[nodiscard]] std::string zipped(std::string_view plain);

// nullopt when the bytes are not complete gzip files, one after the other, or hold more than
// `max_bytes`.
[[nodiscard]] std::optional<std::string> unzipped(std::string_view packed, std::uint64_t max_bytes);

// Returns the first bytes, at most `count`, of what a gzip file holds, as far as its beginning has
// them.
[[nodiscard]] std::string unzipped_beginning(std::string_view packed, std::size_t count);

// Returns whether bytes begin like a gzip file.
[[nodiscard]] bool is_gzip(std::string_view bytes);

}  // namespace autotune
