#include "core/hash.hpp"

#define XXH_INLINE_ALL
#include <cstring>

#include <fmt/format.h>
#include <xxhash.h>

namespace autotune {

std::string content_hash(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

FieldHasher& FieldHasher::add(std::string_view field) {
  bytes_ += std::to_string(field.size());
  bytes_ += ':';
  bytes_ += field;
  return *this;
}

FieldHasher& FieldHasher::add(std::int64_t field) {
  return add(std::to_string(field));
}

FieldHasher& FieldHasher::add(double field) {
  char bytes[sizeof field];
  std::memcpy(bytes, &field, sizeof field);
  return add(std::string_view(bytes, sizeof bytes));
}

}  // namespace autotune
