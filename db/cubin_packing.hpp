// A compiled kernel as the bytes of one database row: CBOR, compressed. No state.
#pragma once

#include <optional>
#include <string>

#include "db/cubin_store.hpp"

namespace autotune {

// Throws Error when it cannot be compressed.
[[nodiscard]] std::string pack(const StoredCubin& entry);
// nullopt, or an exception of the JSON library, for bytes that pack() did not make.
[[nodiscard]] std::optional<StoredCubin> unpack(const std::string& packed);

}  // namespace autotune
