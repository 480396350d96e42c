// A 128-bit content hash (XXH3) as 32 hex digits: integrity and identity, not security.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace autotune {

[[nodiscard]] std::string content_hash(std::string_view bytes);

// Hashes several fields so that ("ab", "c") and ("a", "bc") differ: the length of each field is
// hashed before the field.
class FieldHasher {
 public:
  FieldHasher& add(std::string_view field);
  FieldHasher& add(std::int64_t field);
  FieldHasher& add(double field);
  [[nodiscard]] std::string digest() const { return content_hash(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace autotune
