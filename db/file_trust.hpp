// These functions check that no other user of the machine can have written a database, its journal
// or its write-ahead log.
#pragma once

#include <filesystem>
#include <string>

namespace autotune {

// Returns why this user should not write to a file: it belongs to another user, or other users may
// write to it or to a folder above it (see core/posix/ownership.hpp). The text is empty if
// the file can be trusted. The file and its folders need not exist.
[[nodiscard]] std::string reason_not_to_trust(const std::filesystem::path& path);

// Returns why a file that nobody named should not be read: another user may have put it, or a
// folder above it, where everybody can, or may write to one of them. The text is empty for a file
// of this user's or the system's, and for one that another user keeps in folders of their own.
[[nodiscard]] std::string reason_not_to_read(const std::filesystem::path& path);

// Returns why SQLite should not open a journal or a write-ahead log: it is not a regular file,
// other users can change it, or it names another file, which SQLite would delete. The result is
// nullptr if the file can be opened or does not exist. The function allocates no memory.
[[nodiscard]] const char* reason_to_refuse_journal(const char* path) noexcept;

// Returns the name of an SQLite file system that fails to open each journal and write-ahead log for
// which reason_to_refuse_journal() has a reason. SQLite looks for these files whenever it locks a
// database, so a check before the database is opened would be too early. Every other call goes to
// the default file system. This function is thread-safe.
[[nodiscard]] const char* guarded_file_system();

}  // namespace autotune
