// Merging databases that are larger than one batch of a merge.
#include <algorithm>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include "db_fixture.hpp"
#include "tests/support/vfs_shim.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;

// Tries to lock two files whenever SQLite asks for a lock of one of them, and counts the rows that
// the first of them gets between two chances.
class LockChances : public VfsShim {
 public:
  LockChances(const fs::path& own, const fs::path& other)
      : own_(own.string(), SQLite::OPEN_READWRITE, 0, "unix"),
        other_(other.string(), SQLite::OPEN_READWRITE, 0, "unix") {}

  int before(const FileChange& change) override {
    if (change.kind == FileChange::Kind::lock) look();
    return SQLITE_OK;
  }
  // The rows that were added to `all` without a chance for others, at most.
  std::int64_t longest_wait(std::int64_t all) {
    look();
    CHECK(rows_ == all);
    return longest_;
  }

 private:
  void look() {
    try {
      for (SQLite::Database* file : {&own_, &other_}) {
        file->exec("BEGIN EXCLUSIVE");
        file->exec("ROLLBACK");
      }
    } catch (const SQLite::Exception&) {
      return;
    }
    const std::int64_t rows = own_.execAndGet("SELECT COUNT(*) FROM trial").getInt64();
    longest_ = std::max(longest_, rows - rows_);
    rows_ = rows;
  }

  SQLite::Database own_;
  SQLite::Database other_;
  std::int64_t rows_ = 0;
  std::int64_t longest_ = 0;
};

// Is full after some transactions.
class FullDisk : public VfsShim {
 public:
  explicit FullDisk(int transactions) : left_(transactions) {}

  int before(const FileChange& change) override {
    if (change.kind == FileChange::Kind::remove && change.path.ends_with("-journal")) --left_;
    return left_ <= 0 && change.kind == FileChange::Kind::write ? SQLITE_FULL : SQLITE_OK;
  }

 private:
  int left_;
};

}  // namespace

TEST_SUITE("merging large databases") {
  TEST_CASE("other processes write between the batches of a large merge") {
    const TemporaryFolder folder;
    constexpr int kTrials = 20'000;
    TuningDatabase::open(folder / "other.db")
        .add_trials(some_scope(), some_run(), some_trials(0, kTrials));
    TuningDatabase::open(folder / "own.db").put_winners(std::vector{some_winner(1024, 100)});
    LockChances chances(folder / "own.db", folder / "other.db");
    auto database = TuningDatabase::open(folder / "own.db");
    CHECK(database.merge(folder / "other.db").trials == kTrials);
    CHECK(chances.longest_wait(kTrials) <= 8192);
  }

  TEST_CASE("an interrupted merge is completed by the next one") {
    const TemporaryFolder folder;
    constexpr int kTrials = 10'000;
    auto other = TuningDatabase::open(folder / "other.db");
    other.add_trials(some_scope(), some_run(), some_trials(0, kTrials));
    other.put_winners(std::vector{some_winner(1024, 100)});
    auto database = TuningDatabase::open(folder / "own.db");
    {
      FullDisk full(1);
      auto failed = TuningDatabase::open(folder / "own.db");
      CHECK(storage_error([&] { failed.merge(folder / "other.db"); }) != "no error");
    }
    CHECK(database.stats().trials == 8192);
    CHECK(database.stats().winners == 0);
    const MergeCounts rest = database.merge(folder / "other.db");
    CHECK(rest.trials == kTrials - 8192);
    CHECK(rest.winners == 1);
  }
}
