// The merge of another file into a database, for TuningDatabase::merge().
#pragma once

#include <filesystem>
#include <functional>

#include <SQLiteCpp/SQLiteCpp.h>

#include "db/connection.hpp"
#include "db/tuning_database.hpp"

namespace autotune {

// Runs work in one transaction.
using WriteTransaction = std::function<void(const std::function<void()>&)>;

// Takes what the file `other`, which is of `kind`, has into `own`, on which `write` writes.
[[nodiscard]] MergeCounts merge_file(SQLite::Database& own, const WriteTransaction& write,
                                     const std::filesystem::path& other, FileKind kind,
                                     const PossibleTime& is_possible);

}  // namespace autotune
