#include "db/tables/index_repair.hpp"

#include <string>

#include <sqlite3.h>

namespace autotune {

void repair_indexes(SQLite::Database& database) {
  for (const std::string table : {"scope", "run", "problem", "winner"}) {
    if (database.execAndGet("PRAGMA integrity_check(" + table + ")").getString() == "ok") continue;
    try {
      database.exec("REINDEX " + table);
    } catch (const SQLite::Exception& error) {
      if (error.getErrorCode() != SQLITE_CONSTRAINT) throw;
      throw SQLite::Exception("rows of " + table + " have become equal", SQLITE_CORRUPT);
    }
  }
}

}  // namespace autotune
