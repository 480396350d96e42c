#include "db/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <set>
#include <utility>

#include <SQLiteCpp/Backup.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/posix/file_descriptor.hpp"
#include "core/posix/no_fork.hpp"
#include "core/posix/whole_path.hpp"
#include "db/file_trust.hpp"
#include "db/locked_file.hpp"
#include "db/migrations/field_hash.hpp"

namespace autotune {
namespace {

namespace fs = std::filesystem;

// A row has some kilobytes, a large cubin some megabytes.
constexpr int kMaxRowBytes = 64 << 20;

template <typename Fault = StorageError>
[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw Fault(fmt::format("{}: {}", path.string(), what));
}

// Returns whether this process or the system may open no more files, of which SQLite says only that
// one cannot be opened.
bool lacks_descriptors() {
  const FileDescriptor probe(::open("/", O_PATH | O_CLOEXEC));
  return probe.get() < 0 && (errno == EMFILE || errno == ENFILE);
}

// SQLite names the journal after the file. The journal of a killed writer is not found by another
// name of the file, and what is written by one name meanwhile is damaged when the journal is rolled
// back by the other.
bool has_other_names(const fs::path& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && found.st_nlink > 1;
}

// Returns why the folder of a file has no room for another one, such as a journal, of which SQLite
// says only that it cannot be opened; empty if it has room, or does not tell.
std::string why_no_room(const fs::path& path) {
  const fs::path folder = path.parent_path().empty() ? "." : path.parent_path();
  const FileDescriptor probe(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  const bool is_full = probe.get() < 0 && (errno == ENOSPC || errno == EDQUOT);
  return is_full ? std::strerror(errno) : "";
}

// Throws where the folder or the journal of a file that cannot be opened is the reason.
void check_surroundings(const fs::path& path) {
  if (lacks_descriptors()) fail(path, "cannot be opened: too many open files (see ulimit -n)");
  if (const std::string why = why_no_room(path); !why.empty()) {
    fail(path, fmt::format("cannot be written: its folder takes no journal: {} (see df -i)", why));
  }
  for (const char* end : {"-journal", "-wal"}) {
    const std::string journal = path.string() + end;
    const char* const reason = reason_to_refuse_journal(journal.c_str());
    if (reason != nullptr) fail(journal, reason);
  }
}

// Returns what a code of SQLite's means for the user; {} stands for SQLite's own words.
std::string in_words(int code) {
  switch (code) {
    case SQLITE_NOTADB:
      return "is not a database: name another file, or move it away";
    case SQLITE_CORRUPT:
      return "is damaged: move it away, or put a copy in its place";
    case SQLITE_BUSY:
      return "is locked by another process: try again when that has ended";
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "cannot be written: check its permissions and its folder's";
    case SQLITE_TOOBIG:
      return fmt::format("has a value of more than {} MiB, which autotune never writes: not used",
                         kMaxRowBytes >> 20);
    case SQLITE_ERROR:
      return "has other tables than autotune makes ({}): name another file, or move it away";
    case SQLITE_FULL:
      return "cannot be written: the disk is full";
    case SQLITE_CANTOPEN:
      return "cannot be opened: check its permissions and its folder's";
    case SQLITE_IOERR:
      return "cannot be read or written ({}): check the disk, its quota and ulimit -f";
    default:
      return "{}";
  }
}

[[noreturn]] void fail_as(const SQLite::Exception& error, const fs::path& path) {
  const int code = error.getErrorCode();
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  if (error.getExtendedErrorCode() == SQLITE_READONLY_DBMOVED) {
    fail(path, "was deleted or replaced while it was open");
  }
  if (error.getExtendedErrorCode() == SQLITE_READONLY_ROLLBACK) {
    fail(path,
         has_other_names(path)
             ? "a writer was killed, and the file has other names (hard links): put a copy in "
               "its place"
             : "a writer was killed: whoever may write to the file must open it once");
  }
  if (code == SQLITE_CANTOPEN) check_surroundings(path);
  const std::string why = fmt::format(fmt::runtime(in_words(code)), error.what());
  switch (code) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      fail<DamagedFile>(path, why);
    case SQLITE_BUSY:
      fail<LockedFile>(path, why);
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
      fail<RefusedRow>(path, why);
    default:
      fail(path, why);
  }
}

// Returns the path with the links of its folder resolved, because SQLite refuses links anywhere in
// a path, and a home directory may be behind one.
std::string resolved(const fs::path& path) {
  const fs::path whole = whole_path(path);
  std::error_code error;
  const fs::path folder = fs::canonical(whole.parent_path(), error);
  return (error ? whole : folder / whole.filename()).string();
}

// The journal's name, too, has to fit into what SQLite takes.
std::size_t longest_path() {
  const sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
  return static_cast<std::size_t>(system->mxPathname) - std::strlen("-journal");
}

void refuse_unfit(const fs::path& path) {
  struct stat found {};
  const bool exists = ::lstat(path.c_str(), &found) == 0;
  if (!exists && errno != ENOENT) {
    fail(path, std::string("cannot be opened: ") + std::strerror(errno));
  }
  const std::size_t longest = longest_path();
  if (const std::size_t bytes = resolved(path).size(); bytes > longest) {
    fail(path, fmt::format("has a path of {} bytes, and SQLite takes {}: name another file", bytes,
                           longest));
  }
  if (!exists) return;
  if (S_ISLNK(found.st_mode)) fail(path, "is a symbolic link, which is not followed");
  if (S_ISDIR(found.st_mode)) fail(path, "is a directory: name a file");
  if (!S_ISREG(found.st_mode)) fail(path, "is not a regular file");
}

void refuse_unfit_to_write(const fs::path& path) {
  refuse_unfit(path);
  if (has_other_names(path)) {
    fail(path,
         "has other names (hard links), so that writing could damage it: put a copy in its "
         "place");
  }
  if (const std::string reason = reason_not_to_trust(path); !reason.empty()) fail(path, reason);
}

void make_private_folders(const fs::path& folder, const fs::path& path) {
  std::error_code error;
  if (folder.empty() || fs::exists(folder, error)) return;
  make_private_folders(folder.parent_path(), path);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    fail(path, std::string("its folder cannot be made: ") + std::strerror(errno));
  }
}

// The file is made with mknod() because open() would need close(), which drops the locks that
// SQLite has on the same file in this process.
void make_private_file(const fs::path& path) {
  make_private_folders(path.parent_path(), path);
  if (::mknod(path.c_str(), S_IFREG | 0600, 0) != 0 && errno != EEXIST) {
    fail(path, std::string("cannot be made: ") + std::strerror(errno));
  }
}

// SQLite would notice only at the first change that it cannot write the file, or cannot make a
// journal in its folder.
void refuse_unwritable(SQLite::Database& database, const fs::path& path) {
  const fs::path folder = path.parent_path().empty() ? "." : path.parent_path();
  if (sqlite3_db_readonly(database.getHandle(), "main") != 0) {
    fail(path, "cannot be written: check its permissions");
  }
  // A file without a name tells it. Container runtimes may refuse the system call that asks for
  // permissions, and some file systems know no such files.
  const FileDescriptor unnamed(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (unnamed.get() < 0 && (errno == EACCES || errno == EPERM || errno == EROFS)) {
    fail(path, "cannot be written: its folder is read-only");
  }
}

// EXTRA also syncs the folder after a journal is deleted. With FULL, a journal that is back after
// a power cut would undo the commit.
void sync_all(SQLite::Database& database, const FileKind& kind) {
  database.exec(kind.disposable ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = EXTRA");
}

// None of these settings writes to the file.
void configure(SQLite::Database& database, const FileKind& kind) {
  database.setBusyTimeout(static_cast<int>(kind.busy_timeout.count()));
  sqlite3* handle = database.getHandle();
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMaxRowBytes);
  add_field_hash(database);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  database.exec("PRAGMA foreign_keys = ON");
  sync_all(database, kind);
}

// Checks which program made the file and returns its schema version, 0 for a file without content.
// The caller holds a transaction, because another process may be making the file at the same time.
int stored_version(SQLite::Database& database, const fs::path& path, const FileKind& kind) {
  const auto pragma = [&](const char* name) {
    return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
  };
  const int application = pragma("application_id");
  const int version = pragma("user_version");
  if (application == 0 && pragma("schema_version") == 0) return 0;
  if (application != kind.application_id)
    fail(path, fmt::format("is not a {} of autotune", kind.name));
  if (version < 1)
    fail<DamagedFile>(path, "is damaged: its schema version is not a number above 0");
  const int newest = static_cast<int>(kind.migrations.size());
  if (version > newest) {
    fail(path, fmt::format("was made by a newer autotune (schema {}, this one knows {}): use that "
                           "one, or name another file",
                           version, newest));
  }
  return version;
}

int current_version(SQLite::Database& database, const fs::path& path, const FileKind& kind) {
  const SQLite::Transaction reading(database);
  return stored_version(database, path, kind);
}

// Wants a transaction around it.
void migrate_from(SQLite::Database& database, int version, const FileKind& kind) {
  for (const EmbeddedFile& step : kind.migrations.subspan(static_cast<std::size_t>(version))) {
    database.exec(std::string(step.text));
  }
  database.exec(fmt::format("PRAGMA application_id = {}", kind.application_id));
  database.exec(fmt::format("PRAGMA user_version = {}", kind.migrations.size()));
}

void migrate(SQLite::Database& database, const fs::path& path, const FileKind& kind) {
  const int newest = static_cast<int>(kind.migrations.size());
  const int found = current_version(database, path, kind);
  if (found == newest) return;
  // A new file has nothing that could be lost. NORMAL syncs three times in place of five: the
  // journal, which has no pages, its folder and the file.
  if (found == 0 && !kind.disposable) database.exec("PRAGMA synchronous = NORMAL");
  {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    const int version = stored_version(database, path, kind);
    if (version < newest) migrate_from(database, version, kind);  // no other process was quicker
    transaction.commit();
  }
  sync_all(database, kind);
}

// Returns the statements that made the tables and indexes of a file.
std::set<std::string> statements_of(SQLite::Database& database) {
  SQLite::Statement select(database, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL");
  std::set<std::string> statements;
  while (select.executeStep()) statements.insert(select.getColumn(0));
  return statements;
}

// A column that another user has defined could take any time and memory to read.
void refuse_other_tables(SQLite::Database& database, const fs::path& path, const FileKind& kind,
                         int version) {
  SQLite::Database model(":memory:", SQLite::OPEN_READWRITE);
  FileKind older = kind;
  older.migrations = kind.migrations.first(static_cast<std::size_t>(version));
  configure(model, older);
  migrate(model, ":memory:", older);
  const std::set<std::string> wanted = statements_of(model);
  const std::set<std::string> found = statements_of(database);
  if (std::includes(found.begin(), found.end(), wanted.begin(), wanted.end())) return;
  fail(path, "has other tables than autotune makes: not used");
}

// Returns a copy of an older file that is brought up to date. SQLite keeps the copy in memory or in
// a temporary file, and deletes it with the connection.
SQLite::Database migrated_copy(SQLite::Database& database, const fs::path& path,
                               const FileKind& kind) {
  SQLite::Database copy("", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  configure(copy, kind);
  copy.exec("PRAGMA synchronous = OFF");
  SQLite::Backup(copy, database).executeStep();
  migrate(copy, path, kind);
  return copy;
}

SQLite::Database opened(const fs::path& path, int how) {
  return {resolved(path), how | SQLite::OPEN_NOFOLLOW, 0, guarded_file_system()};
}

// Rolls back the transaction of a killed writer, which SQLite does by itself unless a connection
// only reads.
void roll_back_killed_writer(const fs::path& path, const FileKind& kind) {
  if (!fs::exists(path.string() + "-journal") || ::access(path.c_str(), W_OK) != 0 ||
      !reason_not_to_trust(path).empty() || has_other_names(path)) {
    return;
  }
  SQLite::Database database = opened(path, SQLite::OPEN_READWRITE);
  configure(database, kind);
  database.execAndGet("PRAGMA schema_version");
}

// A write-ahead log, if one was switched on, can lose commits in the SQLite versions that many
// systems have. It stays while another program has the file open. A file that has none is not
// written to.
void end_write_ahead_log(SQLite::Database& database) {
  try {
    database.execAndGet("PRAGMA journal_mode = DELETE");
  } catch (const SQLite::Exception& error) {
    if (error.getErrorCode() != SQLITE_BUSY) throw;
    if (database.execAndGet("PRAGMA journal_mode").getString() != "wal") throw;
  }
}

}  // namespace

FileIdentity identity_of(const fs::path& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return {};
  return {static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino)};
}

SQLite::Database open_file(const fs::path& path, const FileKind& kind) {
  refuse_unfit_to_write(path);
  make_private_file(path);
  refuse_unfit_to_write(path);  // another user may have made the file first
  std::optional<SQLite::Database> database;
  with_storage_errors(path, [&] {
    database.emplace(opened(path, SQLite::OPEN_READWRITE));
    refuse_unwritable(*database, path);
    configure(*database, kind);
    migrate(*database, path, kind);
    end_write_ahead_log(*database);
  });
  return std::move(*database);
}

std::optional<SQLite::Database> open_file_read_only(const fs::path& path, const FileKind& kind) {
  refuse_unfit(path);
  if (identity_of(path) == FileIdentity{}) return std::nullopt;
  std::optional<SQLite::Database> database;
  with_storage_errors(path, [&] {
    roll_back_killed_writer(path, kind);
    database.emplace(opened(path, SQLite::OPEN_READONLY));
    configure(*database, kind);
    const int version = current_version(*database, path, kind);
    if (kind.foreign && version > 0) refuse_other_tables(*database, path, kind, version);
    if (version == 0) {
      database.reset();
    } else if (version < static_cast<int>(kind.migrations.size())) {
      database.emplace(migrated_copy(*database, path, kind));
    }
  });
  return database;
}

SQLite::Database open_in_memory(const FileKind& kind) {
  const NoFork until_done;
  SQLite::Database database(":memory:", SQLite::OPEN_READWRITE);
  configure(database, kind);
  migrate(database, ":memory:", kind);
  return database;
}

void with_storage_errors(const fs::path& path, const std::function<void()>& work) {
  // A child would believe that it has the locks of this process.
  const NoFork until_done;
  try {
    work();
  } catch (const SQLite::Exception& error) {
    fail_as(error, path);
  }
}

}  // namespace autotune
