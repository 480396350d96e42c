#include "db/migrations/field_hash.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "core/hash.hpp"

namespace autotune {
namespace {

void hash_fields(sqlite3_context* context, int count, sqlite3_value** fields) {
  FieldHasher hasher;
  for (int i = 0; i < count; ++i) {
    sqlite3_value* const field = fields[i];
    switch (sqlite3_value_type(field)) {
      case SQLITE_INTEGER:
        hasher.add(std::int64_t{sqlite3_value_int64(field)});
        break;
      case SQLITE_FLOAT:
        hasher.add(sqlite3_value_double(field));
        break;
      default: {
        const void* const bytes = sqlite3_value_blob(field);
        const auto size = static_cast<std::size_t>(sqlite3_value_bytes(field));
        hasher.add(std::string_view(static_cast<const char*>(bytes), bytes == nullptr ? 0 : size));
      }
    }
  }
  const std::string digest = hasher.digest();
  sqlite3_result_text(context, digest.data(), static_cast<int>(digest.size()), SQLITE_TRANSIENT);
}

// SQLite is C, through which no exception passes.
void field_hash(sqlite3_context* context, int count, sqlite3_value** fields) noexcept {
  try {
    hash_fields(context, count, fields);
  } catch (const std::exception&) {
    sqlite3_result_error_nomem(context);
  }
}

}  // namespace

void add_field_hash(SQLite::Database& database) {
  constexpr int kAnyNumber = -1;
  sqlite3_create_function_v2(database.getHandle(), "field_hash", kAnyNumber,
                             SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, nullptr,
                             field_hash, nullptr, nullptr, nullptr);
}

}  // namespace autotune
