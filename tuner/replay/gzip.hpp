// gzip, in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace autotune {

// nullopt when the bytes are not complete gzip files, one after the other, or hold more than
// `max_bytes`.
[[nodiscard]] std::optional<std::string> unzipped(std::string_view packed, std::uint64_t max_bytes);

// Returns whether bytes begin like a gzip file.
[[nodiscard]] bool is_gzip(std::string_view bytes);

}  // namespace autotune
