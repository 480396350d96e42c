#include "db/cubin_store.hpp"

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <SQLiteCpp/VariadicBind.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zstd.h>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "db/connection.hpp"

namespace autotune {

using nlohmann::json;
namespace fs = std::filesystem;

std::span<const EmbeddedFile> embedded_cubin_migrations();

namespace {

constexpr std::int32_t kApplicationId = 0x41544331;  // "ATC1"
// Entries wait until so many are there, or the store is closed: a commit costs more than an entry.
constexpr std::size_t kBatch = 64;
// A level that compresses faster than the disk writes.
constexpr int kCompressionLevel = 3;
constexpr std::size_t kMaxBodyBytes = std::size_t{256} << 20;

FileKind cubin_file() {
  return {"cubin store", kApplicationId, embedded_cubin_migrations(), /*durable=*/false};
}

std::int64_t hours_now() {
  return std::chrono::duration_cast<std::chrono::hours>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

json binary(const std::string& bytes) { return json::binary({bytes.begin(), bytes.end()}); }

std::string pack(const StoredCubin& entry) {
  std::string plain;
  json::to_cbor({{"cubin", binary(entry.cubin)},
                 {"log", binary(entry.log)},
                 {"resources", entry.resources}},
                plain);
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(),
                              kCompressionLevel));
  return packed;
}

std::optional<StoredCubin> unpack(const std::string& packed) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size > kMaxBodyBytes) return std::nullopt;  // also the codes for "unknown" and "error"
  std::string plain(size, '\0');
  if (ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size()) != size) {
    return std::nullopt;
  }
  const json body = json::from_cbor(plain);
  const auto text = [&](const char* key) {
    const auto& bytes = body.at(key).get_binary();
    return std::string(bytes.begin(), bytes.end());
  };
  return StoredCubin{text("cubin"), text("log"), body.at("resources").get<Resources>()};
}

}  // namespace

struct CubinStore::Implementation {
  std::mutex mutex;
  std::optional<SQLite::Database> database;
  std::string problem;
  std::int64_t max_bytes = 0;
  struct Pending {
    std::string key;
    std::string body;
  };
  std::vector<Pending> pending;

  ~Implementation() { commit(); }

  void connect(const fs::path& path) {
    try {
      database.emplace(open_file(path, cubin_file()));
    } catch (const std::exception& error) {
      problem = error.what();
    }
  }

  std::optional<StoredCubin> find(const std::string& key) {
    SQLite::Statement select(*database, "SELECT body, body_hash, used_at FROM cubin WHERE key = ?");
    select.bind(1, key);
    if (!select.executeStep()) return std::nullopt;
    const SQLite::Column column = select.getColumn(0);
    const std::string body(static_cast<const char*>(column.getBlob()),
                           static_cast<std::size_t>(column.getBytes()));
    if (content_hash(key + body) != select.getColumn(1).getString()) return std::nullopt;
    // Uses within the hour are not worth a write.
    if (select.getColumn(2).getInt64() < hours_now()) pending.push_back({key, body});
    return unpack(body);
  }

  void commit() noexcept {
    if (!database || pending.empty()) return;
    try {
      SQLite::Transaction transaction(*database, SQLite::TransactionBehavior::IMMEDIATE);
      SQLite::Statement insert(*database, "INSERT OR REPLACE INTO cubin VALUES (?, ?, ?, ?)");
      for (const Pending& entry : pending) {
        insert.bind(1, entry.key);
        insert.bind(2, entry.body.data(), static_cast<int>(entry.body.size()));
        insert.bind(3, content_hash(entry.key + entry.body));
        insert.bind(4, hours_now());
        insert.exec();
        insert.reset();
      }
      evict();
      transaction.commit();
    } catch (const std::exception& error) {
      problem = error.what();
    }
    pending.clear();
  }

  // Drops the least recently used tenth, until the rest is within the limit.
  void evict() {
    const auto used_bytes = [&] {
      const auto pragma = [&](const char* name) {
        return database->execAndGet(fmt::format("PRAGMA {}", name)).getInt64();
      };
      return (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
    };
    while (used_bytes() > max_bytes) {
      const int removed = database->exec(
          "DELETE FROM cubin WHERE key IN (SELECT key FROM cubin ORDER BY used_at, key"
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
  implementation->max_bytes = max_bytes;
  implementation->connect(path);
  return CubinStore(std::move(implementation));
}

CubinStore CubinStore::disabled() { return CubinStore(std::make_unique<Implementation>()); }

std::optional<StoredCubin> CubinStore::find(const std::string& key) {
  const std::lock_guard lock(implementation_->mutex);
  if (!implementation_->database) return std::nullopt;
  try {
    return implementation_->find(key);
  } catch (const std::exception& error) {
    implementation_->problem = error.what();
    return std::nullopt;
  }
}

void CubinStore::put(const std::string& key, const StoredCubin& entry) {
  const std::lock_guard lock(implementation_->mutex);
  if (!implementation_->database) return;
  implementation_->pending.push_back({key, pack(entry)});
  if (implementation_->pending.size() >= kBatch) implementation_->commit();
}

const std::string& CubinStore::problem() const { return implementation_->problem; }

std::string cubin_key(const std::string& nvrtc_build, const std::string& source,
                      const std::vector<std::string>& options) {
  FieldHasher hasher;
  hasher.add(nvrtc_build).add(source);
  for (const std::string& option : options) hasher.add(option);
  return hasher.digest();
}

std::optional<fs::path> default_cubin_store_path() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return fs::path(cache) / "autotune" / "cubins.db";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return fs::path(home) / ".cache" / "autotune" / "cubins.db";
  return std::nullopt;
}

}  // namespace autotune
