#include "db/cubin_store.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/hash.hpp"
#include "core/posix/no_fork.hpp"
#include "core/posix/whole_path.hpp"
#include "db/connection.hpp"
#include "db/cubin_packing.hpp"
#include "db/locked_file.hpp"

namespace autotune {

namespace fs = std::filesystem;

std::span<const EmbeddedFile> embedded_cubin_migrations();

namespace {

constexpr std::int32_t kApplicationId = 0x41544331;  // "ATC1"
// A commit costs more than an entry.
constexpr std::size_t kBatchEntries = 64;
constexpr std::size_t kBatchBytes = std::size_t{16} << 20;
constexpr std::int64_t kUseDelay_s = 3600;
constexpr std::chrono::milliseconds kUsualWait(2000);
constexpr std::chrono::milliseconds kWaitAgain(100);

FileKind cubin_file(std::chrono::milliseconds busy_timeout) {
  return {.name = "cubin store",
          .application_id = kApplicationId,
          .migrations = embedded_cubin_migrations(),
          .busy_timeout = busy_timeout,
          .disposable = true};
}

std::int64_t now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

struct CubinStore::Implementation {
  mutable std::mutex mutex;
  fs::path path;
  std::int64_t max_bytes = 0;
  std::chrono::milliseconds busy_timeout = kUsualWait;
  std::chrono::milliseconds wait = kUsualWait;  // less after one in vain
  bool opens_at_use = false;
  std::optional<SQLite::Database> database;
  FileIdentity identity;
  std::map<std::string, std::string> unwritten;  // key, body
  std::size_t unwritten_bytes = 0;
  std::set<std::string> used;  // keys whose last use is to be written
  std::string problem;
  std::string said;  // the last problem that was taken

  ~Implementation() {
    commit();
    close();
  }

  void close() {
    const NoFork until_done;
    database.reset();
  }

  void connect() {
    close();
    database.emplace(open_file(path, cubin_file(wait)));
    identity = identity_of(path);
  }

  // Returns whether there is a file to work on, which a store that opens at use has looked for.
  bool is_open() {
    if (!opens_at_use) return database.has_value();
    if (!database || identity_of(path) != identity) attempt([&] { connect(); });
    return database.has_value();
  }

  void wait_for_locks(std::chrono::milliseconds longest) {
    wait = longest;
    if (database) database->setBusyTimeout(static_cast<int>(longest.count()));
  }

  // The journal first: a new file must not meet the old one's.
  void start_over() {
    close();
    std::error_code ignored;
    fs::remove(fs::path(path) += "-journal", ignored);
    fs::remove(path, ignored);
    connect();
  }

  // Runs `work` if there is a file to work on; an error costs only the effect of the work. A
  // process that was stopped with its lock is waited for once; the next commit that succeeds
  // brings the usual wait back.
  template <typename Work>
  void attempt(Work work) noexcept {
    try {
      try {
        work();
      } catch (const DamagedFile& damage) {
        problem = damage.what();
        start_over();
      }
    } catch (const LockedFile& locked) {
      problem = locked.what();
      wait_for_locks(std::min(kWaitAgain, busy_timeout / 10));
    } catch (const std::exception& error) {
      problem = error.what();
    }
  }

  std::optional<std::string> body_of(const std::string& key) {
    if (const auto found = unwritten.find(key); found != unwritten.end()) return found->second;
    SQLite::Statement select(*database, "SELECT body, body_hash, used_at FROM cubin WHERE key = ?");
    select.bind(1, key);
    if (!select.executeStep()) return std::nullopt;
    std::string body = select.getColumn(0).getString();
    if (content_hash(key + body) != select.getColumn(1).getString()) {
      problem = fmt::format("{}: a kernel in it is damaged, and not used", path.string());
      return std::nullopt;
    }
    if (select.getColumn(2).getInt64() < now_s() - kUseDelay_s) used.insert(key);
    return body;
  }

  // Writes the waiting entries; those that cannot be written are dropped.
  void commit() noexcept {
    if (!database || (unwritten.empty() && used.empty())) return;
    attempt([&] {
      if (identity_of(path) != identity) connect();  // another process made it anew
      with_storage_errors(path, [&] {
        SQLite::Transaction transaction(*database, SQLite::TransactionBehavior::IMMEDIATE);
        write();
        evict();
        transaction.commit();
      });
      wait_for_locks(busy_timeout);
    });
    unwritten.clear();
    unwritten_bytes = 0;
    used.clear();
  }

  void write() {
    const std::int64_t now = now_s();
    SQLite::Statement touch(*database, "UPDATE cubin SET used_at = ? WHERE key = ?");
    for (const std::string& key : used) {
      touch.bind(1, now);
      touch.bind(2, key);
      touch.exec();
      touch.reset();
    }
    SQLite::Statement insert(*database,
                             "INSERT OR REPLACE INTO cubin (key, body, body_hash, used_at)"
                             " VALUES (?, ?, ?, ?)");
    for (const auto& [key, body] : unwritten) {
      insert.bind(1, key);
      insert.bind(2, body.data(), static_cast<int>(body.size()));
      insert.bind(3, content_hash(key + body));
      insert.bind(4, now);
      insert.exec();
      insert.reset();
    }
  }

  // Drops the tenth that was not used for longest, until the rest is within the limit.
  void evict() {
    const auto pragma = [&](const char* name) {
      return database->execAndGet(fmt::format("PRAGMA {}", name)).getInt64();
    };
    const auto used_bytes = [&] {
      return (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
    };
    while (used_bytes() > max_bytes) {
      const int removed = database->exec(
          "DELETE FROM cubin WHERE id IN (SELECT id FROM cubin ORDER BY used_at, id"
          " LIMIT (SELECT COUNT(*) / 10 + 1 FROM cubin))");
      if (removed == 0) return;
    }
  }
};

CubinStore::CubinStore(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
CubinStore::CubinStore(CubinStore&&) noexcept = default;
CubinStore& CubinStore::operator=(CubinStore&&) noexcept = default;
CubinStore::~CubinStore() = default;

CubinStore CubinStore::open(const fs::path& path, std::int64_t max_bytes) {
  auto implementation = std::make_unique<Implementation>();
  Implementation& self = *implementation;
  self.max_bytes = max_bytes;
  self.attempt([&] {
    self.path = whole_path(path);
    self.connect();
  });
  return CubinStore(std::move(implementation));
}

CubinStore CubinStore::open_at_use(const fs::path& path, std::chrono::milliseconds busy_timeout) {
  auto implementation = std::make_unique<Implementation>();
  implementation->path = path;
  implementation->max_bytes = kUsualBytes;
  implementation->busy_timeout = implementation->wait = busy_timeout;
  implementation->opens_at_use = true;
  return CubinStore(std::move(implementation));
}

CubinStore CubinStore::disabled() {
  return CubinStore(std::make_unique<Implementation>());
}

std::optional<StoredCubin> CubinStore::find(const std::string& key) {
  Implementation& self = *implementation_;
  const NoFork until_done;
  const std::lock_guard lock(self.mutex);
  std::optional<StoredCubin> result;
  if (!self.is_open()) return result;
  self.attempt([&] {
    with_storage_errors(self.path, [&] {
      if (const std::optional<std::string> body = self.body_of(key)) result = unpack(*body);
      self.wait_for_locks(self.busy_timeout);
    });
  });
  return result;
}

void CubinStore::put(const std::string& key, const StoredCubin& entry) {
  Implementation& self = *implementation_;
  const NoFork until_done;
  const std::lock_guard lock(self.mutex);
  if (!self.is_open()) return;
  self.attempt([&] {
    std::string body = pack(entry);
    self.unwritten_bytes += body.size();
    self.unwritten.insert_or_assign(key, std::move(body));
  });
  if (self.opens_at_use || self.unwritten.size() >= kBatchEntries ||
      self.unwritten_bytes >= kBatchBytes) {
    self.commit();
  }
}

std::string CubinStore::problem() const {
  const NoFork until_done;
  const std::lock_guard lock(implementation_->mutex);
  return implementation_->problem;
}

std::string CubinStore::take_problem() {
  const NoFork until_done;
  const std::lock_guard lock(implementation_->mutex);
  std::string problem = std::exchange(implementation_->problem, "");
  if (problem == implementation_->said) return "";
  if (!problem.empty()) implementation_->said = problem;
  return problem;
}

std::string cubin_key(const std::string& nvrtc_build, const std::string& source,
                      const std::vector<std::string>& options) {
  FieldHasher hasher;
  hasher.add(nvrtc_build).add(source);
  for (const std::string& option : options) hasher.add(option);
  return hasher.digest();
}

}  // namespace autotune
