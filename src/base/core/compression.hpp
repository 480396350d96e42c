// zstd, in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace autotune {

// Levels are zstd's: 3 keeps up with a disk, 19 is slow and small.
[[nodiscard]] std::string compressed(std::string_view plain, int level);

// nullopt when the bytes are not a complete zstd stream, or hold more than `max_bytes`.
[[nodiscard]] std::optional<std::string> decompressed(std::string_view packed,
                                                      std::uint64_t max_bytes);

// Returns whether bytes begin like a zstd stream.
[[nodiscard]] bool is_compressed(std::string_view bytes);

}  // namespace autotune
