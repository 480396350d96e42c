// Processes that are killed while they write, and the journals that they leave behind.
#include <filesystem>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "db_fixture.hpp"
#include "killing_vfs.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;

// Adds 40 trials in a process that is killed before its n-th change; false when it came to its end.
bool killed_at(int n, const fs::path& path) {
  Child child([&](Child& self) {
    const KillingVfs disk(n);
    TuningDatabase::open(path).add_trials(some_scope(), some_run("run 2"), some_trials(3, 40));
    self.say("done");
  });
  return child.next_line() != "done";
}

std::string some_database(const fs::path& path) {
  TuningDatabase::open(path).add_trials(some_scope(), some_run(), some_trials(0, 3));
  return bytes_of(path);
}

// Kills a writer when its change was written to the file but not committed.
bool leave_half_written(const fs::path& path) {
  const std::string base = some_database(path);
  for (int n = 1; killed_at(n, path); ++n) {
    if (bytes_of(path) != base) return true;
  }
  return false;
}

}  // namespace

TEST_SUITE("a killed writer") {
  TEST_CASE("at any change to the file leaves all of its trials or none, to readers too") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    const std::string base = some_database(path);
    bool was_killed = true;
    for (int n = 1; was_killed; ++n) {
      CAPTURE(n);
      REQUIRE(n < 200);
      fs::remove(path.string() + "-journal");
      write_bytes(path, base);
      was_killed = killed_at(n, path);
      const auto found = TuningDatabase::open_read_only(path)->trials(some_scope(), square(1024));
      CHECK((found.size() == 3 || found.size() == 43));
      if (!was_killed) CHECK(found.size() == 43);
      SQLite::Database raw(path.string());
      CHECK(raw.execAndGet("PRAGMA integrity_check").getString() == "ok");
    }
  }

  TEST_CASE("is told to a reader who may not undo what it began") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    REQUIRE(leave_half_written(path));
    fs::permissions(folder.path(), fs::perms(0755));
    for (const fs::path& file : {path, fs::path(path.string() + "-journal")}) {
      fs::permissions(file, fs::perms(0444));
    }
    Child child([&](Child& self) {
      become_nobody();
      self.say(storage_error([&] { TuningDatabase::open_read_only(path); }));
    });
    CHECK(child.next_line() == path.string() +
                                   ": a writer was killed: whoever may write to the file must open"
                                   " it once");
  }
}
