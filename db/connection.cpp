#include "db/connection.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

namespace fs = std::filesystem;

constexpr int kBusyTimeout_ms = 15'000;

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw StorageError(fmt::format("{}: {}", path.string(), what));
}

std::string meaning(const SQLite::Exception& error) {
  switch (error.getErrorCode()) {
    case SQLITE_NOTADB: return "is no autotune file: name another, or move it away";
    case SQLITE_CORRUPT: return "is damaged: move it away, or restore a copy";
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "is locked by another process";
    case SQLITE_READONLY:
    case SQLITE_PERM: return "cannot be written: check its permissions and its folder's";
    case SQLITE_FULL: return "cannot be written: the disk is full";
    case SQLITE_IOERR: return std::string("cannot be read or written: ") + error.getErrorStr();
    case SQLITE_CANTOPEN: return "cannot be opened: check that it may be read and written";
    default: return error.what();
  }
}

// The path with its folder's links resolved: SQLite refuses links anywhere, but a home directory
// behind one is no threat.
fs::path resolved(const fs::path& path) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(path.parent_path().empty() ? "." : path.parent_path(), error);
  return error ? path : folder / path.filename();
}

void refuse_unfit(const fs::path& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return;
  if (S_ISLNK(found.st_mode)) fail(path, "is a symbolic link, which is not followed");
  if (S_ISDIR(found.st_mode)) fail(path, "is a directory: name a file");
  if (!S_ISREG(found.st_mode)) fail(path, "is no regular file");
}

void make_private_file(const fs::path& path) {
  std::error_code error;
  const fs::path folder = path.parent_path();
  if (!folder.empty() && !fs::exists(folder, error)) {
    const mode_t before = ::umask(0077);
    fs::create_directories(folder, error);
    ::umask(before);
    if (error) fail(path, "its folder cannot be made: " + error.message());
  }
  const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0) {
    ::close(fd);
  } else if (errno != EEXIST) {
    fail(path, std::string("cannot be made: ") + std::strerror(errno));
  }
}

int pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

// Settings of a connection; none of them writes to the file.
void configure(SQLite::Database& database, const FileKind& kind) {
  database.setBusyTimeout(kBusyTimeout_ms);
  sqlite3* handle = database.getHandle();
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  database.exec("PRAGMA foreign_keys = ON");
  database.exec(kind.durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = OFF");
}

// Whose file is it, and of which version? 0 for a file without content.
int checked_version(SQLite::Database& database, const fs::path& path, const FileKind& kind) {
  const int version = pragma(database, "user_version");
  const int application = pragma(database, "application_id");
  const bool empty = pragma(database, "schema_version") == 0;
  if (empty && application == 0) return 0;
  if (application != kind.application_id) fail(path, fmt::format("is no {} of autotune", kind.name));
  const int newest = static_cast<int>(kind.migrations.size());
  if (version > newest) {
    fail(path, fmt::format("was made by a newer autotune (schema {}, this one knows {}): use that "
                           "one, or name another file",
                           version, newest));
  }
  return version;
}

void migrate(SQLite::Database& database, const fs::path& path, const FileKind& kind) {
  const int newest = static_cast<int>(kind.migrations.size());
  if (checked_version(database, path, kind) == newest) return;
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  // Another process may have been quicker.
  for (int version = checked_version(database, path, kind); version < newest; ++version) {
    database.exec(std::string(kind.migrations[static_cast<std::size_t>(version)].text));
  }
  database.exec(fmt::format("PRAGMA application_id = {}", kind.application_id));
  database.exec(fmt::format("PRAGMA user_version = {}", newest));
  transaction.commit();
}

}  // namespace

FileIdentity identity_of(const fs::path& path) {
  struct stat found {};
  if (path.empty() || ::lstat(path.c_str(), &found) != 0) return {0, 0};
  return {static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino)};
}

SQLite::Database open_file(const fs::path& path, const FileKind& kind) {
  refuse_unfit(path);
  make_private_file(path);
  std::optional<SQLite::Database> database;
  with_storage_errors(path, [&] {
    database.emplace(resolved(path).string(), SQLite::OPEN_READWRITE | SQLite::OPEN_NOFOLLOW);
    configure(*database, kind);
    migrate(*database, path, kind);
  });
  return std::move(*database);
}

SQLite::Database open_file_read_only(const fs::path& path, const FileKind& kind) {
  refuse_unfit(path);
  std::optional<SQLite::Database> database;
  with_storage_errors(path, [&] {
    database.emplace(resolved(path).string(), SQLite::OPEN_READONLY | SQLite::OPEN_NOFOLLOW);
    configure(*database, kind);
    const int version = checked_version(*database, path, kind);
    if (version < static_cast<int>(kind.migrations.size())) {
      fail(path, "was made by an older autotune: open it for writing once, with tune");
    }
  });
  return std::move(*database);
}

SQLite::Database open_in_memory(const FileKind& kind) {
  SQLite::Database database(":memory:", SQLite::OPEN_READWRITE);
  configure(database, kind);
  migrate(database, ":memory:", kind);
  return database;
}

void with_storage_errors(const fs::path& path, const std::function<void()>& work) {
  try {
    work();
  } catch (const SQLite::Exception& error) {
    fail(path, meaning(error));
  }
}

}  // namespace autotune
