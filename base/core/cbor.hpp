// CBOR that others may have written.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace autotune {

struct CborLimits {
  std::size_t depth = 8;         // of arrays and objects in each other
  std::size_t values = 100'000;  // names of members included
};

// Returns nullopt for bytes that are not one CBOR value within the limits. Strings, arrays and
// objects without a length at their beginning, and tags, are refused: json::to_cbor() writes none.
[[nodiscard]] std::optional<nlohmann::json> parsed_cbor(std::string_view bytes,
                                                        const CborLimits& limits = {});

}  // namespace autotune
