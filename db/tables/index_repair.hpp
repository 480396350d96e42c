// Repair of indexes that differ from their tables.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

namespace autotune {

// Makes the indexes of the tables by which results are found anew where they differ from their
// tables: a row that is damaged and an index that still has its old key answer differently, and
// what is written between them is lost. The largest table, trial, is left out: its index only
// orders what these tables lead to. Writes nothing where all is sound. Throws SQLite::Exception
// with SQLITE_CORRUPT when a table cannot be indexed. Wants a transaction around it.
void repair_indexes(SQLite::Database& database);

}  // namespace autotune
