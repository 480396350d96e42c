// Opens SQLite files the way this program wants them: private, checked for whose they are, with a
// rollback journal, and with faults as one clear line. No state; a connection belongs to its
// caller, who serialises its use.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"

namespace autotune {

// A kind of file: how it is recognised and how it is kept.
struct FileKind {
  const char* name = "";                     // in messages: "tuning database"
  std::int32_t application_id = 0;           // in the file's header
  std::span<const EmbeddedFile> migrations;  // in order; the schema version is their number
  std::chrono::milliseconds busy_timeout{};  // how long to wait for another process's lock
  bool disposable = false;                   // a crash of the machine may lose the last writes
  bool trusted = false;  // holds code: refused when other users could have written it
};

// The file's content differs from what was written: it is damaged, or not an SQLite file at all.
class DamagedFile : public StorageError {
 public:
  using StorageError::StorageError;
};

// The file that a path names, to notice that it was deleted or replaced.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  bool operator==(const FileIdentity&) const = default;
};
// The result is all 0 when there is no file.
[[nodiscard]] FileIdentity identity_of(const std::filesystem::path& path);

// Opens or makes a file (0600, its folders 0700) and brings its schema up to date; a current file
// is not written to. Throws StorageError: a link, a directory, another program's file, a newer
// schema, damage, locks, no permission, no space.
[[nodiscard]] SQLite::Database open_file(const std::filesystem::path& path, const FileKind& kind);
// Opens a file for reading alone, also where the folder cannot be written. A file of an older
// schema is copied to a temporary database, which is brought up to date in its place. nullopt when
// there is no file, or one that nothing was written to yet.
[[nodiscard]] std::optional<SQLite::Database> open_file_read_only(const std::filesystem::path& path,
                                                                  const FileKind& kind);
[[nodiscard]] SQLite::Database open_in_memory(const FileKind& kind);

// Runs `work`, turning SQLite's errors into a StorageError about `path`.
void with_storage_errors(const std::filesystem::path& path, const std::function<void()>& work);

}  // namespace autotune
