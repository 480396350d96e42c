// These functions open SQLite files as this program needs them: private, with a known owner and
// with a rollback journal. A fault is one clear line. The functions have no state; a connection
// belongs to its caller, who serialises its use.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>

#include <SQLiteCpp/SQLiteCpp.h>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"

namespace autotune {

// A FileKind says how a kind of file is recognised and kept.
struct FileKind {
  const char* name = "";                     // in messages: "tuning database"
  std::int32_t application_id = 0;           // in the file's header
  std::span<const EmbeddedFile> migrations;  // in order; the schema version is their number
  std::chrono::milliseconds busy_timeout{};  // how long to wait for another process's lock
  bool disposable = false;                   // the last writes may be lost in a power cut
  bool foreign = false;  // another user made it, so its tables must be those of autotune
};

// The file is damaged, or is not an SQLite file.
class DamagedFile : public StorageError {
 public:
  using StorageError::StorageError;
};

// The database accepts a row in no transaction.
class RefusedRow : public StorageError {
 public:
  using StorageError::StorageError;
};

// A FileIdentity tells whether a path still names the same file. It is all 0 if there is no file.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  bool operator==(const FileIdentity&) const = default;
};
[[nodiscard]] FileIdentity identity_of(const std::filesystem::path& path);

// open_file() opens or makes a file (0600, its folders 0700) and brings its schema up to date. It
// does not write to a file that is up to date. It throws StorageError for a link, a directory, a
// file or folder that other users may write to, another program's file, a newer schema, damage, a
// lock, a lack of permission and a full disk.
[[nodiscard]] SQLite::Database open_file(const std::filesystem::path& path, const FileKind& kind);
// open_file_read_only() opens a file for reading, also in a folder that cannot be written. It
// copies a file of an older schema to a temporary database and brings the copy up to date. It
// writes nothing, except that it rolls back the transaction of a killed writer of the same user.
// Returns nullopt if there is no file, or an empty one.
[[nodiscard]] std::optional<SQLite::Database> open_file_read_only(const std::filesystem::path& path,
                                                                  const FileKind& kind);
[[nodiscard]] SQLite::Database open_in_memory(const FileKind& kind);

// with_storage_errors() runs `work` and turns errors of SQLite into a StorageError about `path`.
void with_storage_errors(const std::filesystem::path& path, const std::function<void()>& work);

}  // namespace autotune
