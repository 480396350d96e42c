// Takes in what another tuning database has.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include "db/tuning_database.hpp"

namespace autotune {

// Makes the tables of another database readable as other.* on a connection, outside of a
// transaction.
class AttachedDatabase {
 public:
  // `other` has the newest schema: a file, or a migrated copy of one, whose content is copied.
  AttachedDatabase(SQLite::Database& database, SQLite::Database other);
  ~AttachedDatabase();
  AttachedDatabase(const AttachedDatabase&) = delete;
  AttachedDatabase& operator=(const AttachedDatabase&) = delete;

 private:
  SQLite::Database& database_;
};

// Copies the rows of other.* that this database lacks, in the caller's transaction.
[[nodiscard]] MergeCounts merge_attached(SQLite::Database& database);

}  // namespace autotune
