#include "db/merge.hpp"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "db/tables/completed_table.hpp"
#include "db/tables/index_repair.hpp"
#include "db/tables/rates_table.hpp"
#include "db/tables/time_check.hpp"
#include "db/tables/trial_merge.hpp"
#include "db/tables/winner_table.hpp"

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

// The least time between two transactions of a merge: a process that waits for a lock asks for it
// every 0.1 s.
constexpr std::chrono::milliseconds kLockPause(110);

}  // namespace

MergeCounts merge_file(SQLite::Database& own, const WriteTransaction& write,
                       const std::filesystem::path& other, FileKind kind,
                       const PossibleTime& is_possible) {
  kind.foreign = true;
  std::optional<SQLite::Database> source = open_file_read_only(other, kind);
  if (!source) throw StorageError(other.string() + ": there is no database, or nothing in it");
  MergeCounts counts;
  // A running tuner stores the trials of a request before it marks the request as completed, so the
  // trials are read last.
  std::vector<WinnerRow> winners;
  std::vector<CompletedRequest> completed;
  std::vector<StoredRates> rates;
  with_storage_errors(other, [&] {
    winners = select_winner_rows(*source, &counts.damaged);
    completed = select_all_completed(*source, &counts.damaged);
    rates = select_all_rates(*source, &counts.damaged);
  });
  OtherTrials trials(*source);
  Clock::time_point unlocked_at;
  for (bool is_first = true; !trials.at_end(); is_first = false) {
    std::vector<OtherTrial> batch;
    with_storage_errors(other, [&] { batch = trials.next(); });
    if (!is_first) std::this_thread::sleep_until(unlocked_at + kLockPause);
    write([&] {
      // Other processes can read until a batch is complete, which fits into memory.
      if (is_first) own.exec("PRAGMA cache_spill = OFF");
      if (is_first) repair_indexes(own);
      const TimeCheck check(is_possible, select_all_rates(own), rates);
      counts.impossible += check.erase_impossible(batch);
      counts.trials += merge_trials(own, batch);
      if (!trials.at_end()) return;
      counts.impossible += check.erase_impossible(winners);
      counts.winners = merge_winners(own, std::move(winners));
      merge_completed(own, completed);
      merge_rates(own, rates);
    });
    unlocked_at = Clock::now();
  }
  counts.damaged += trials.damaged();
  return counts;
}

}  // namespace autotune
