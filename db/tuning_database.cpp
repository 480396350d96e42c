#include "db/tuning_database.hpp"

#include <mutex>
#include <utility>

#include <SQLiteCpp/VariadicBind.h>
#include <fmt/format.h>

#include "autotune/error.hpp"

#include "db/connection.hpp"
#include "db/merge.hpp"
#include "db/trial_table.hpp"
#include "db/winner_table.hpp"

namespace autotune {

FieldHasher& add_scope(FieldHasher& hasher, const TrialScope& scope) {
  return hasher.add(scope.device_class)
      .add(scope.template_name)
      .add(std::int64_t{scope.space_version})
      .add(scope.source_hash)
      .add(scope.environment.driver)
      .add(scope.environment.nvrtc_build)
      .add(std::int64_t{scope.environment.measuring_protocol});
}

std::span<const EmbeddedFile> embedded_migrations();

namespace {

namespace fs = std::filesystem;

FileKind tuning_file(std::chrono::milliseconds busy_timeout) {
  constexpr std::int32_t kApplicationId = 0x41544e31;  // "ATN1"
  return {.name = "tuning database",
          .application_id = kApplicationId,
          .migrations = embedded_migrations(),
          .busy_timeout = busy_timeout};
}

std::string hash_of(const CompletedRequest& request) {
  return FieldHasher()
      .add(request.key)
      .add(request.reason)
      .add(request.budget_s)
      .add(request.trials)
      .digest();
}

std::string hash_of(const std::string& device_class, const Environment& environment,
                    const DeviceRates& rates) {
  return FieldHasher()
      .add(device_class)
      .add(environment.driver)
      .add(environment.nvrtc_build)
      .add(std::int64_t{environment.measuring_protocol})
      .add(rates.fma_gflops)
      .add(rates.copy_gbps)
      .digest();
}

}  // namespace

struct TuningDatabase::Implementation {
  fs::path path;  // empty in memory
  SQLite::Database database;
  fs::path whole_path;  // stays right when the program changes its folder
  FileIdentity identity;
  std::mutex mutex;

  Implementation(fs::path where, SQLite::Database opened)
      : path(std::move(where)), database(std::move(opened)) {
    if (path.empty()) return;
    whole_path = fs::absolute(path);
    identity = identity_of(whole_path);
  }

  // Runs `work` in one immediate transaction.
  template <typename Work>
  void write(Work work) {
    const std::lock_guard lock(mutex);
    with_storage_errors(path, [&] {
      SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
      work();
      // What goes to a file that nobody can find again is lost.
      if (identity_of(whole_path) != identity) {
        throw StorageError(path.string() + ": was deleted or replaced while it was open");
      }
      transaction.commit();
    });
  }

  template <typename Work>
  void read(Work work) {
    const std::lock_guard lock(mutex);
    with_storage_errors(path, work);
  }
};

TuningDatabase::TuningDatabase(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
TuningDatabase::TuningDatabase(TuningDatabase&&) noexcept = default;
TuningDatabase& TuningDatabase::operator=(TuningDatabase&&) noexcept = default;
TuningDatabase::~TuningDatabase() = default;

TuningDatabase TuningDatabase::open(const fs::path& path, std::chrono::milliseconds busy_timeout) {
  SQLite::Database database = open_file(path, tuning_file(busy_timeout));
  return TuningDatabase(std::make_unique<Implementation>(path, std::move(database)));
}

std::optional<TuningDatabase> TuningDatabase::open_read_only(
    const fs::path& path, std::chrono::milliseconds busy_timeout) {
  std::optional<SQLite::Database> database = open_file_read_only(path, tuning_file(busy_timeout));
  if (!database) return std::nullopt;
  return TuningDatabase(std::make_unique<Implementation>(path, std::move(*database)));
}

TuningDatabase TuningDatabase::in_memory() {
  return TuningDatabase(
      std::make_unique<Implementation>("", open_in_memory(tuning_file(kBusyTimeout))));
}

const fs::path& TuningDatabase::path() const {
  return implementation_->path;
}

void TuningDatabase::add_trials(const TrialScope& scope, const RunInfo& run,
                                std::span<const Trial> trials) {
  if (trials.empty()) return;
  Implementation& self = *implementation_;
  self.write([&] { insert_trials(self.database, scope, run, trials); });
}

std::vector<Trial> TuningDatabase::trials(const TrialScope& scope,
                                          const GemmProblem& problem) const {
  std::vector<Trial> result;
  Implementation& self = *implementation_;
  self.read([&] { result = select_trials(self.database, scope, problem); });
  return result;
}

std::vector<StoredTrial> TuningDatabase::all_trials(const std::string& device_label,
                                                    const std::string& template_name) const {
  std::vector<StoredTrial> result;
  Implementation& self = *implementation_;
  self.read([&] { result = select_all_trials(self.database, device_label, template_name); });
  return result;
}

std::vector<Trial> TuningDatabase::trials_after(std::int64_t& row, const TrialScope& scope,
                                                const std::string& own_guid) const {
  std::vector<Trial> result;
  Implementation& self = *implementation_;
  self.read([&] { result = select_trials_after(self.database, row, scope, own_guid); });
  return result;
}

std::int64_t TuningDatabase::last_trial_row() const {
  std::int64_t row = 0;
  Implementation& self = *implementation_;
  self.read([&] { row = select_last_trial(self.database); });
  return row;
}

void TuningDatabase::put_winners(std::span<const Winner> winners) {
  Implementation& self = *implementation_;
  self.write([&] { insert_winners(self.database, winners); });
}

std::vector<Winner> TuningDatabase::winners(const std::string& device_class,
                                            const std::string& device_label) const {
  std::vector<Winner> result;
  Implementation& self = *implementation_;
  self.read([&] { result = select_winners(self.database, device_class, device_label); });
  return result;
}

std::vector<Winner> TuningDatabase::best_trials(const std::string& device_class,
                                                const std::string& device_label) const {
  std::vector<Winner> result;
  Implementation& self = *implementation_;
  self.read([&] { result = select_best_trials(self.database, device_class, device_label); });
  return result;
}

void TuningDatabase::put_completed(const std::vector<CompletedRequest>& requests) {
  Implementation& self = *implementation_;
  self.write([&] {
    SQLite::Statement insert(self.database,
                             "INSERT OR REPLACE INTO completed (key, reason, budget_s, trials,"
                             " row_hash) VALUES (?, ?, ?, ?, ?)");
    for (const CompletedRequest& request : requests) {
      SQLite::bind(insert, request.key, request.reason, request.budget_s, request.trials,
                   hash_of(request));
      insert.exec();
      insert.reset();
    }
  });
}

std::optional<CompletedRequest> TuningDatabase::completed(const std::string& key) const {
  std::optional<CompletedRequest> result;
  Implementation& self = *implementation_;
  self.read([&] {
    SQLite::Statement select(
        self.database, "SELECT reason, budget_s, trials, row_hash FROM completed WHERE key = ?");
    select.bind(1, key);
    if (!select.executeStep()) return;
    const CompletedRequest found = {key, select.getColumn(0).getString(),
                                    select.getColumn(1).getDouble(),
                                    select.getColumn(2).getInt64()};
    if (hash_of(found) == select.getColumn(3).getString()) result = found;
  });
  return result;
}

void TuningDatabase::put_rates(const std::string& device_class, const Environment& environment,
                               const DeviceRates& rates) {
  Implementation& self = *implementation_;
  self.write([&] {
    SQLite::Statement insert(
        self.database,
        "INSERT OR REPLACE INTO rates (silicon_class, driver, nvrtc_build, protocol, fma_gflops,"
        " copy_gbps, row_hash) VALUES (?, ?, ?, ?, ?, ?, ?)");
    SQLite::bind(insert, device_class, environment.driver, environment.nvrtc_build,
                 environment.measuring_protocol, rates.fma_gflops, rates.copy_gbps,
                 hash_of(device_class, environment, rates));
    insert.exec();
  });
}

std::optional<DeviceRates> TuningDatabase::rates(const std::string& device_class,
                                                 const Environment& environment) const {
  std::optional<DeviceRates> result;
  Implementation& self = *implementation_;
  self.read([&] {
    SQLite::Statement select(
        self.database,
        "SELECT fma_gflops, copy_gbps, row_hash FROM rates WHERE silicon_class = ? AND driver = ?"
        " AND nvrtc_build = ? AND protocol = ?");
    SQLite::bind(select, device_class, environment.driver, environment.nvrtc_build,
                 environment.measuring_protocol);
    if (!select.executeStep()) return;
    const DeviceRates found = {select.getColumn(0).getDouble(), select.getColumn(1).getDouble()};
    if (hash_of(device_class, environment, found) == select.getColumn(2).getString()) {
      result = found;
    }
  });
  return result;
}

MergeCounts TuningDatabase::merge(const fs::path& other) {
  Implementation& self = *implementation_;
  if (identity_of(other) == self.identity && !path().empty()) {
    throw UsageError(other.string() + " is the database that it would be merged into");
  }
  // Refuses what is no tuning database, or one of a newer program.
  if (!open_read_only(other)) {
    throw StorageError(other.string() + ": there is no database, or nothing in it");
  }
  std::optional<AttachedDatabase> attached;
  self.read([&] { attached.emplace(self.database, other); });
  MergeCounts counts;
  self.write([&] { counts = merge_attached(self.database); });
  self.read([&] { attached.reset(); });
  return counts;
}

DatabaseStats TuningDatabase::stats() const {
  DatabaseStats stats{.path = path()};
  Implementation& self = *implementation_;
  self.read([&] {
    const auto number = [&](const char* query) {
      return self.database.execAndGet(query).getInt64();
    };
    stats.bytes = number("PRAGMA page_count") * number("PRAGMA page_size");
    stats.runs = number("SELECT COUNT(*) FROM run");
    stats.trials = number("SELECT COUNT(*) FROM trial");
    stats.failed_trials = number("SELECT COUNT(*) FROM trial WHERE status <> 'ok'");
    stats.winners = number("SELECT COUNT(*) FROM winner");
    stats.schema_version = static_cast<int>(number("PRAGMA user_version"));
  });
  return stats;
}

}  // namespace autotune
