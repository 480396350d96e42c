#include "db/tuning_database.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include <sqlite3.h>

#include "autotune/error.hpp"

#include "core/posix/no_fork.hpp"
#include "core/posix/whole_path.hpp"
#include "db/connection.hpp"
#include "db/default_paths.hpp"
#include "db/file_trust.hpp"
#include "db/locked_file.hpp"
#include "db/merge.hpp"
#include "db/tables/best_trials.hpp"
#include "db/tables/completed_table.hpp"
#include "db/tables/problem_table.hpp"
#include "db/tables/provenance.hpp"
#include "db/tables/rates_table.hpp"
#include "db/tables/removal.hpp"
#include "db/tables/summaries.hpp"
#include "db/tables/trial_table.hpp"
#include "db/tables/winner_table.hpp"

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

// Changes whenever another connection commits.
int data_version(SQLite::Database& database) {
  return database.execAndGet("PRAGMA data_version").getInt();
}

// The wait after one in vain.
std::chrono::milliseconds short_wait(std::chrono::milliseconds usual) {
  constexpr std::chrono::milliseconds kLongest(100);
  return std::min(kLongest, usual / 10);
}

void insert_result(SQLite::Database& database, const RunInfo& run, const ResultRow& row) {
  if (const auto* scoped = std::get_if<ScopedTrial>(&row)) {
    insert_trials(database, scoped->scope, run, {&scoped->trial, 1});
  } else if (const auto* winner = std::get_if<Winner>(&row)) {
    // Its run may have made no trials.
    static_cast<void>(
        make_run(database, {run, winner->device_class, winner->environment.tool_version}));
    Winner own = *winner;
    own.run = run.guid;
    insert_winners(database, {&own, 1});
  } else if (const auto* measured = std::get_if<StoredRates>(&row)) {
    insert_rates(database, measured->device_class, measured->environment, measured->rates);
  } else {
    insert_completed(database, {&std::get<CompletedRequest>(row), 1});
  }
}

}  // namespace

struct TuningDatabase::Implementation {
  fs::path path;                  // empty in memory
  std::optional<NoFork> closing;  // until the database is closed
  SQLite::Database database;
  fs::path whole_path;  // stays right when the program changes its folder
  FileIdentity identity;
  int version = 0;  // by data_version(), of a file that is only read
  std::chrono::milliseconds busy_timeout;
  bool waited_in_vain = false;
  std::timed_mutex mutex;

  Implementation(fs::path where, SQLite::Database opened, std::chrono::milliseconds wait)
      : path(std::move(where)), database(std::move(opened)), busy_timeout(wait) {
    if (path.empty()) return;
    whole_path = autotune::whole_path(path);
    identity = identity_of(whole_path);
  }
  ~Implementation() { closing.emplace(); }

  // After a wait in vain the next calls do not wait long, until one succeeds. A process that was
  // stopped with its lock would otherwise cost the whole wait for each of them.
  template <typename Work>
  void access(Work work) {
    try {
      with_storage_errors(path, work);
      if (std::exchange(waited_in_vain, false)) wait_for_locks(busy_timeout);
    } catch (const LockedFile&) {
      if (!std::exchange(waited_in_vain, true)) wait_for_locks(short_wait(busy_timeout));
      throw;
    }
  }
  void wait_for_locks(std::chrono::milliseconds longest) {
    database.setBusyTimeout(static_cast<int>(longest.count()));
  }

  // Runs `work` in one immediate transaction.
  template <typename Work>
  void write(Work work) {
    const NoFork until_done;  // whoever has the mutex must not wait for a fork
    const std::lock_guard lock(mutex);
    access([&] {
      SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
      work();
      // Rows in a file that no path names any more would be lost.
      if (identity_of(whole_path) != identity) {
        throw StorageError(path.string() + ": was deleted or replaced while it was open");
      }
      transaction.commit();
    });
  }

  template <typename Work>
  auto read(Work work) -> decltype(work()) {
    const NoFork until_done;  // whoever has the mutex must not wait for a fork
    const std::lock_guard lock(mutex);
    decltype(work()) result{};
    access([&] { result = work(); });
    return result;
  }

  // Like read(), but throws LockedFile rather than waiting long for a process that has the file
  // locked, or for a thread that waits for one.
  template <typename Work>
  auto read_soon(Work work) -> decltype(work()) {
    constexpr std::chrono::milliseconds kSoon(1000);
    const NoFork until_done;
    // By the system's clock, since thread sanitizers do not know the locks by the steady one.
    const std::unique_lock lock(mutex, std::chrono::system_clock::now() + kSoon);
    if (!lock) throw LockedFile(path.string() + ": another thread waits for it");
    decltype(work()) result{};
    const auto usual = waited_in_vain ? short_wait(busy_timeout) : busy_timeout;
    wait_for_locks(std::min(kSoon, usual));
    try {
      with_storage_errors(path, [&] { result = work(); });
    } catch (...) {
      wait_for_locks(usual);
      throw;
    }
    wait_for_locks(usual);
    return result;
  }
};

TuningDatabase::TuningDatabase(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
TuningDatabase::TuningDatabase(TuningDatabase&&) noexcept = default;
TuningDatabase& TuningDatabase::operator=(TuningDatabase&&) noexcept = default;
TuningDatabase::~TuningDatabase() = default;

TuningDatabase TuningDatabase::open(const fs::path& path, std::chrono::milliseconds busy_timeout) {
  SQLite::Database database = open_file(path, tuning_file(busy_timeout));
  return TuningDatabase(std::make_unique<Implementation>(path, std::move(database), busy_timeout));
}

std::optional<TuningDatabase> TuningDatabase::open_read_only(
    const fs::path& path, std::chrono::milliseconds busy_timeout) {
  std::optional<SQLite::Database> database = open_file_read_only(path, tuning_file(busy_timeout));
  if (!database) return std::nullopt;
  auto opened = std::make_unique<Implementation>(path, std::move(*database), busy_timeout);
  with_storage_errors(path, [&] { opened->version = data_version(opened->database); });
  return TuningDatabase(std::move(opened));
}

std::optional<TuningDatabase> TuningDatabase::open_unnamed_read_only(
    const fs::path& path, std::chrono::milliseconds busy_timeout) {
  if (const std::string reason = reason_not_to_read(path); !reason.empty()) {
    throw StorageError(path.string() + ": " + reason);
  }
  return open_read_only(path, busy_timeout);
}

std::optional<TuningDatabase> TuningDatabase::open_default_read_only() {
  if (const auto path = database_of_environment()) check_folder_of_environment(*path);
  return open_unnamed_read_only(default_database_path());
}

TuningDatabase TuningDatabase::in_memory() {
  return TuningDatabase(std::make_unique<Implementation>(
      "", open_in_memory(tuning_file(kBusyTimeout)), kBusyTimeout));
}

const fs::path& TuningDatabase::path() const {
  return implementation_->path;
}

bool TuningDatabase::is_unchanged() const {
  Implementation& self = *implementation_;
  const char* const name = sqlite3_db_filename(self.database.getHandle(), "main");
  if (name == nullptr || *name == '\0') return false;
  return identity_of(self.whole_path) == self.identity &&
         self.read([&] { return data_version(self.database); }) == self.version;
}

void TuningDatabase::read_together(const std::function<void()>& work) const {
  Implementation& self = *implementation_;
  with_storage_errors(self.path, [&] {
    const SQLite::Transaction reading(self.database);
    work();
  });
}

void TuningDatabase::add_trials(const TrialScope& scope, const RunInfo& run,
                                std::span<const Trial> trials) {
  if (trials.empty()) return;
  Implementation& self = *implementation_;
  self.write([&] { insert_trials(self.database, scope, run, trials); });
}

void TuningDatabase::add_results(const RunInfo& run, std::span<const ResultRow> rows) {
  if (rows.empty()) return;
  Implementation& self = *implementation_;
  self.write([&] {
    for (const ResultRow& row : rows) insert_result(self.database, run, row);
  });
}

std::vector<Trial> TuningDatabase::trials(const TrialScope& scope, const Problem& problem) const {
  return trials(std::span(&scope, 1), problem);
}

std::vector<Trial> TuningDatabase::trials(std::span<const TrialScope> scopes,
                                          const Problem& problem) const {
  Implementation& self = *implementation_;
  return self.read([&] { return select_trials(self.database, scopes, problem); });
}

std::vector<StoredTrial> TuningDatabase::all_trials(const ResultFilter& filter,
                                                    const std::string& template_name) const {
  Implementation& self = *implementation_;
  return self.read([&] { return select_all_trials(self.database, filter, template_name); });
}

void TuningDatabase::visit_trials(const ResultFilter& filter, const std::string& template_name,
                                  const std::function<void(const TrialRow&)>& visit) const {
  Implementation& self = *implementation_;
  const NoFork until_done;
  const std::lock_guard lock(self.mutex);
  self.access([&] { autotune::visit_trials(self.database, filter, template_name, visit); });
}

std::vector<Trial> TuningDatabase::trials_after(std::int64_t& row, const TrialScope& scope,
                                                const std::string& own_guid) const {
  Implementation& self = *implementation_;
  return self.read_soon([&] { return select_trials_after(self.database, row, scope, own_guid); });
}

std::int64_t TuningDatabase::last_trial_row() const {
  Implementation& self = *implementation_;
  return self.read([&] { return select_last_trial(self.database); });
}

void TuningDatabase::put_winners(std::span<const Winner> winners) {
  Implementation& self = *implementation_;
  self.write([&] { insert_winners(self.database, winners); });
}

bool TuningDatabase::put_baseline(const Winner& winner, const BaselineTime& baseline) {
  Implementation& self = *implementation_;
  bool is_stored = false;
  self.write([&] { is_stored = autotune::put_baseline(self.database, winner, baseline); });
  return is_stored;
}

std::vector<Winner> TuningDatabase::winners(const ResultFilter& filter) const {
  Implementation& self = *implementation_;
  return self.read([&] { return select_winners(self.database, filter); });
}

std::vector<Winner> TuningDatabase::best_trials(const ResultFilter& filter) const {
  Implementation& self = *implementation_;
  return self.read([&] { return select_best_trials(self.database, filter); });
}

std::vector<StoredTrial> TuningDatabase::fastest_trials(const ResultFilter& filter,
                                                        const std::string& template_name,
                                                        std::size_t count) const {
  Implementation& self = *implementation_;
  return self.read(
      [&] { return select_fastest_trials(self.database, filter, template_name, count); });
}

std::vector<ResultSummary> TuningDatabase::summaries(const ResultFilter& filter,
                                                     const std::string& template_name) const {
  Implementation& self = *implementation_;
  return self.read([&] { return select_summaries(self.database, filter, template_name); });
}

void TuningDatabase::visit_problems(const ResultFilter& filter,
                                    const std::function<void(const Problem&)>& visit) const {
  Implementation& self = *implementation_;
  const NoFork until_done;
  const std::lock_guard lock(self.mutex);
  self.access([&] { autotune::visit_problems(self.database, filter, visit); });
}

void TuningDatabase::put_completed(const std::vector<CompletedRequest>& requests) {
  Implementation& self = *implementation_;
  self.write([&] { insert_completed(self.database, requests); });
}

std::optional<CompletedRequest> TuningDatabase::completed(const std::string& key) const {
  Implementation& self = *implementation_;
  return self.read([&] { return select_completed(self.database, key); });
}

void TuningDatabase::put_rates(const std::string& device_class, const Environment& environment,
                               const DeviceRates& rates) {
  Implementation& self = *implementation_;
  self.write([&] { insert_rates(self.database, device_class, environment, rates); });
}

std::optional<DeviceRates> TuningDatabase::rates(const std::string& device_class,
                                                 const Environment& environment) const {
  Implementation& self = *implementation_;
  return self.read([&] { return select_rates(self.database, device_class, environment); });
}

MergeCounts TuningDatabase::merge(const fs::path& other, const PossibleTime& is_possible) {
  Implementation& self = *implementation_;
  if (identity_of(other) == self.identity && !path().empty()) {
    throw UsageError(other.string() + " is the database that it would be merged into");
  }
  const auto write = [&](const std::function<void()>& work) { self.write(work); };
  return merge_file(self.database, write, other, tuning_file(kBusyTimeout), is_possible);
}

RemovedCounts TuningDatabase::remove(std::span<const ResultKey> results) {
  Implementation& self = *implementation_;
  RemovedCounts counts;
  self.write([&] { counts = remove_results(self.database, results); });
  return counts;
}

RemovedCounts TuningDatabase::remove_all() {
  Implementation& self = *implementation_;
  RemovedCounts counts;
  self.write([&] { counts = remove_all_results(self.database); });
  return counts;
}

RemovedCounts TuningDatabase::prune(const std::function<bool(const TrialScope&)>& is_current,
                                    const std::function<bool(const Problem&)>& is_known,
                                    const std::function<bool(const Problem&)>& is_foreign) {
  Implementation& self = *implementation_;
  RemovedCounts counts;
  self.write([&] { counts = prune_results(self.database, is_current, is_known, is_foreign); });
  return counts;
}

void TuningDatabase::shrink() {
  Implementation& self = *implementation_;
  const NoFork until_done;
  const std::lock_guard lock(self.mutex);
  self.access([&] { self.database.exec("VACUUM"); });
}

DatabaseStats TuningDatabase::stats() const {
  Implementation& self = *implementation_;
  return self.read([&] {
    DatabaseStats stats = select_stats(self.database);
    stats.path = path();
    return stats;
  });
}

}  // namespace autotune
