// Opens SQLite files the way this program wants them: private, checked for whose they are, with a
// rollback journal, and with faults as one clear line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/embedded_file.hpp"

namespace autotune {

// What a kind of file is known by.
struct FileKind {
  const char* name;            // in messages: "tuning database"
  std::int32_t application_id; // in the file's header
  std::span<const EmbeddedFile> migrations;  // in order; the schema version is their number
  bool durable = true;         // false: a crash of the machine may cost the last commits
};

// A file's identity, to notice that it was deleted or replaced.
using FileIdentity = std::pair<std::uint64_t, std::uint64_t>;
[[nodiscard]] FileIdentity identity_of(const std::filesystem::path& path);

// Opens or makes a file and brings its schema up to date; a current file is not written to. Throws
// StorageError: a link, a directory, another program's file, a newer schema, damage, locks, no
// permission, no space.
[[nodiscard]] SQLite::Database open_file(const std::filesystem::path& path, const FileKind& kind);
// For reading alone. The file exists.
[[nodiscard]] SQLite::Database open_file_read_only(const std::filesystem::path& path,
                                                   const FileKind& kind);
[[nodiscard]] SQLite::Database open_in_memory(const FileKind& kind);

// Runs `work`, turning SQLite's errors into a StorageError about `path`.
void with_storage_errors(const std::filesystem::path& path, const std::function<void()>& work);

}  // namespace autotune
