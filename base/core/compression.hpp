// zstd, in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace autotune {

// Compresses bytes. `level` is zstd's: 3 keeps up with a disk, 19 is slow and gives the fewest
// bytes.
[[nodiscard]] std::string compressed(std::string_view plain, int level);

// Returns nullopt for bytes that are not a complete zstd stream, or that would become more than
// `max_bytes`.
[[nodiscard]] std::optional<std::string> decompressed(std::string_view packed,
                                                      std::uint64_t max_bytes);

// Returns the first bytes, at most `count`, of what a zstd stream holds, as far as the beginning of
// the stream has them.
[[nodiscard]] std::string decompressed_beginning(std::string_view packed, std::size_t count);

// Returns whether bytes begin like a zstd stream.
[[nodiscard]] bool is_compressed(std::string_view bytes);

}  // namespace autotune
