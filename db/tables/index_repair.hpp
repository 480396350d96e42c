// Repair of indexes that differ from their tables.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

namespace autotune {

// Rebuilds the indexes of a table when they differ from it. A damaged row and an index that still
// has its old key give different answers to the same question, and a row that is written then may
// never be found. Only the tables by which results are found are checked; the index of `trial`, the
// largest table, only orders what these lead to. Sound tables are not written. Throws
// SQLite::Exception with SQLITE_CORRUPT when a table cannot be indexed or read. The caller holds a
// transaction.
void repair_indexes(SQLite::Database& database);

}  // namespace autotune
