// The SQLite file of tuning results: trials (append-only), winners, completed requests.
//
// One object may be used by several threads; calls are serialised inside. Several processes may
// use one file: every write is one short immediate transaction with bounded retries. Opening a
// current file writes nothing. Rows carry a hash over their columns; a row that fails it is
// skipped as if it were not there.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/device_info.hpp"
#include "core/hash.hpp"
#include "core/trial.hpp"
#include "core/winner.hpp"
#include "db/result_filter.hpp"
#include "db/result_reader.hpp"

namespace autotune {

// The identity by which trials are found. A trial is known when all of this matches; with another
// environment or source hash it is stale.
struct TrialScope {
  std::string device_class;
  std::string template_name;
  int space_version = 0;
  std::string source_hash;
  Environment environment;
};

// Adds all of a scope that trials are told apart by.
FieldHasher& add_scope(FieldHasher& hasher, const TrialScope& scope);

// A tuning run, for provenance; trials of one run share it.
struct RunInfo {
  std::string guid;
  std::string device_label;
  std::string device_uuid;
  std::string command;  // as the user gave it
  std::string started_at;
};

// A request that was carried to its end: asking again measures nothing.
struct CompletedRequest {
  std::string key;          // text of all that the answer depends on
  std::string reason;       // "exhausted" or "budget"
  double budget_s = 0;      // 0: unlimited
  std::int64_t trials = 0;  // the allowed number; 0: unlimited
};

struct DatabaseStats {
  std::filesystem::path path;
  std::int64_t bytes = 0;
  std::int64_t runs = 0;
  std::int64_t trials = 0;
  std::int64_t failed_trials = 0;
  std::int64_t winners = 0;
  int schema_version = 0;
};

// A trial to be stored with those of other scopes.
struct ScopedTrial {
  TrialScope scope;
  Trial trial;
};

// Maximum rates of a class of device in an environment.
struct StoredRates {
  std::string device_class;
  Environment environment;
  DeviceRates rates;
};

// One result of a run, of any kind that the database stores.
using ResultRow = std::variant<ScopedTrial, Winner, StoredRates, CompletedRequest>;

// A trial with where it is from.
struct StoredTrial {
  TrialScope scope;
  RunInfo run;
  Trial trial;
  std::int64_t row = 0;      // those that were stored later have greater ones
  std::int64_t run_row = 0;  // of fastest_trials(): the run's, in the same way
};

// A trial without its JSON, for those who look at a million of them. Scope, run and
// problem stay where they are until visit_trials() returns, the texts until the next row.
struct TrialRow {
  std::int64_t row = 0;
  const TrialScope& scope;
  const RunInfo& run;
  const Problem& problem;
  std::string_view configuration;  // as to_string() writes it
  TrialStatus status = TrialStatus::ok;
  std::string_view detail;
  double median_us = 0;  // 0 unless ok
};

// The trials of one problem in one scope, counted. Their rows are not checked for damage.
struct ResultSummary {
  TrialScope scope;
  std::string device_label;
  Problem problem;
  std::int64_t trials = 0;
  std::int64_t correct = 0;
  double best_us = 0;  // 0: none is correct
};

// All that is stored of a template on a problem and a class of device.
struct ResultKey {
  std::string device_class;
  Problem problem;
  std::string template_name;

  auto operator<=>(const ResultKey&) const = default;
};

// The number of rows that remove() and prune() removed.
struct RemovedCounts {
  std::int64_t trials = 0;
  std::int64_t winners = 0;
};

// The number of rows that merge() added, or left out.
struct MergeCounts {
  std::int64_t trials = 0;
  std::int64_t winners = 0;     // or replaced
  std::int64_t impossible = 0;  // trials and winners that were left out for their time
  std::int64_t damaged = 0;     // rows of any table that were left out
};

class TuningDatabase : public ResultReader {
 public:
  // The time that a call waits for another process that writes; once it was in vain, later calls
  // wait less, until one succeeds.
  static constexpr std::chrono::milliseconds kBusyTimeout{15'000};

  // Opens a file, making it (and its directory, 0700) when absent and migrating an older schema.
  // Throws StorageError in one clear line: foreign file, newer schema, corrupt, locked by another
  // process for longer than the busy timeout, symbolic link, another user's or in a folder that
  // others may write to, no permission, disk full.
  static TuningDatabase open(const std::filesystem::path& path,
                             std::chrono::milliseconds busy_timeout = kBusyTimeout);
  // Opens an existing file for reading only, even where the directory is not writable. Writes
  // nothing, except that it rolls back what a killed writer of this user's left. A file of an older
  // schema is migrated into a temporary copy. Throws StorageError as open() does. Returns nullopt
  // if there is no file, or an empty one.
  static std::optional<TuningDatabase> open_read_only(
      const std::filesystem::path& path, std::chrono::milliseconds busy_timeout = kBusyTimeout);
  // Does so with a file that nobody named. Throws StorageError also where another user may have
  // written it; see docs/database.md.
  static std::optional<TuningDatabase> open_unnamed_read_only(
      const std::filesystem::path& path, std::chrono::milliseconds busy_timeout = kBusyTimeout);
  // Does so with the file at default_database_path().
  static std::optional<TuningDatabase> open_default_read_only();
  static TuningDatabase in_memory();

  TuningDatabase(TuningDatabase&&) noexcept;
  TuningDatabase& operator=(TuningDatabase&&) noexcept;
  ~TuningDatabase() override;

  // Empty for a database in memory.
  [[nodiscard]] const std::filesystem::path& path() const;

  // Returns whether the path still names the file that was opened, and no other connection has
  // changed the file since. False for a copy of an older schema's file.
  [[nodiscard]] bool is_unchanged() const;
  // Calls `work`. The file is locked once for all that `work` reads, which is of one moment. Nobody
  // else may use this object meanwhile.
  void read_together(const std::function<void()>& work) const;

  // One transaction for all of them. Throws StorageError and stores none of them when it fails,
  // also when the file was deleted or replaced under this handle.
  void add_trials(const TrialScope& scope, const RunInfo& run, std::span<const Trial> trials);
  // Stores results of a run in their order, as add_trials(), put_winners(), put_rates() and
  // put_completed() do. One transaction for all of them.
  void add_results(const RunInfo& run, std::span<const ResultRow> rows);
  // In the order they were stored; of several trials of one configuration the last.
  [[nodiscard]] std::vector<Trial> trials(const TrialScope& scope, const Problem& problem) const;
  [[nodiscard]] std::vector<Trial> trials(std::span<const TrialScope> scopes,
                                          const Problem& problem) const;

  // All that match, by scope and problem, as trials(). An empty template name stands for all.
  [[nodiscard]] std::vector<StoredTrial> all_trials(const ResultFilter& filter,
                                                    const std::string& template_name = {}) const;
  // Calls `visit`, which may not use this object, with every stored row, also where several are of
  // one configuration, in the order they were stored. The template name is as in all_trials().
  void visit_trials(const ResultFilter& filter, const std::string& template_name,
                    const std::function<void(const TrialRow&)>& visit) const;
  // Every one that other runs have stored after a row, of all problems, in the order they were
  // stored. Moves `row` on to the last row that there is. Throws StorageError, rather than waiting
  // for longer than a second, if the file is locked.
  [[nodiscard]] std::vector<Trial> trials_after(std::int64_t& row, const TrialScope& scope,
                                                const std::string& own_guid) const;
  // The row that was stored last; 0 when there is none.
  [[nodiscard]] std::int64_t last_trial_row() const;

  // Replaces the winner of the same device class, problem and template.
  void put_winners(std::span<const Winner> winners);
  // Puts a library's time beside a stored winner, if that has the device class, problem, template
  // and configuration of this one. Returns whether it has. One transaction.
  bool put_baseline(const Winner& winner, const BaselineTime& baseline);
  // Winners, fastest first within a problem. With a device and a problem in the filter this is one
  // seek, however much is stored.
  [[nodiscard]] std::vector<Winner> winners(const ResultFilter& filter) const override;

  // The fastest correct trial of each problem and scope, as unconfirmed winners: what a search that
  // never came to its finals leaves. With a device and a problem in the filter this is one seek for
  // each scope of the device.
  [[nodiscard]] std::vector<Winner> best_trials(const ResultFilter& filter) const override;

  // The fastest correct trials of each problem and scope, each configuration once, the fastest
  // first. The template name is as in all_trials().
  [[nodiscard]] std::vector<StoredTrial> fastest_trials(const ResultFilter& filter,
                                                        const std::string& template_name,
                                                        std::size_t count) const;
  // By scope, then by problem.
  [[nodiscard]] std::vector<ResultSummary> summaries(const ResultFilter& filter,
                                                     const std::string& template_name = {}) const;

  // Calls `visit`, which may not use this object, with every problem that winners() or
  // best_trials() has a result for, in no order. It takes a few seeks for each problem, and does
  // not read the results.
  void visit_problems(const ResultFilter& filter,
                      const std::function<void(const Problem&)>& visit) const override;

  // One transaction for all of them.
  void put_completed(const std::vector<CompletedRequest>& requests);
  [[nodiscard]] std::optional<CompletedRequest> completed(const std::string& key) const;

  void put_rates(const std::string& device_class, const Environment& environment,
                 const DeviceRates& rates);
  [[nodiscard]] std::optional<DeviceRates> rates(const std::string& device_class,
                                                 const Environment& environment) const;

  // Takes in what another database has: its trials with their runs, rates and completed requests,
  // and its winners where there are none or slower ones. Damaged rows of the other are left out,
  // and damaged ones of this one count as absent. Some thousand trials are one transaction, so that
  // other processes can use both files meanwhile; after a failure, it is to be called again for the
  // rest. Results whose time is not possible by the rates in this file, or else the other, are left
  // out too. The other may be of an older schema. Throws StorageError as open() does for either
  // file, when there is no other file, and when the other's tables are not those that this program
  // makes; UsageError when it is this one.
  MergeCounts merge(const std::filesystem::path& other, const PossibleTime& is_possible = {});

  // Removes trials, winners and completed requests, of all environments. One transaction.
  RemovedCounts remove(std::span<const ResultKey> results);
  // Removes all trials, winners and completed requests, also those that cannot be read.
  RemovedCounts remove_all();
  // Removes trials of scopes that are not current, trials that cannot be read, all but the last of
  // the others of a configuration, and the results of problems that are not known. Problems that
  // are foreign keep their trials, whatever the scope. One transaction.
  RemovedCounts prune(
      const std::function<bool(const TrialScope&)>& is_current,
      const std::function<bool(const Problem&)>& is_known,
      const std::function<bool(const Problem&)>& is_foreign = [](const Problem&) { return false; });
  // Gives the space of removed rows back. For a moment it takes twice the file's size.
  void shrink();

  [[nodiscard]] DatabaseStats stats() const;

 private:
  struct Implementation;
  explicit TuningDatabase(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace autotune
