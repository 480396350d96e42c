// The hash of a row's fields as an SQL function, for migrations that hash rows anew.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

namespace autotune {

// Adds field_hash(a, b, ...) to a connection: FieldHasher's digest of its arguments, integers and
// reals as numbers, everything else as the bytes of a text.
void add_field_hash(SQLite::Database& database);

}  // namespace autotune
