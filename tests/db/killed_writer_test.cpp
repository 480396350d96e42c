// Processes that are killed while they write, and the journals that they leave behind.
#include <csignal>
#include <filesystem>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "db_fixture.hpp"
#include "tests/support/vfs_shim.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;

// Kills this process before the n-th change to a file.
class KillingVfs : public VfsShim {
 public:
  explicit KillingVfs(int n) : left_(n) {}
  int before(const FileChange&) override {
    if (--left_ == 0) std::raise(SIGKILL);
    return 0;
  }

 private:
  int left_;
};

// Adds 40 trials in a process that is killed before its n-th change; false when it came to its end.
bool killed_at(int n, const fs::path& path) {
  Child child([&](Child& self) {
    const KillingVfs disk(n);
    TuningDatabase::open(path).add_trials(some_scope(), some_run("run 2"), some_trials(3, 40));
    self.say("done");
  });
  return child.next_line() != "done";
}

std::string some_database(const fs::path& path, int trials, std::int64_t size = 1024) {
  TuningDatabase::open(path).add_trials(some_scope(), some_run(), some_trials(0, trials, size));
  return bytes_of(path);
}

// Copies of a file and of its journal, as a killed writer left them at the moment when its change
// was written to the file but not committed.
struct HalfWritten {
  std::string file;
  std::string journal;
};
HalfWritten half_written(const fs::path& path) {
  const std::string base = some_database(path, 3);
  for (int n = 1; killed_at(n, path); ++n) {
    const std::string file = bytes_of(path);
    if (file.size() > base.size()) return {file, bytes_of(path.string() + "-journal")};
  }
  return {};
}

}  // namespace

TEST_SUITE("a killed writer") {
  TEST_CASE("at any change to the file leaves all of its trials or none, to readers too") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    const std::string base = some_database(path, 3);
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
    REQUIRE(half_written(path).file.size() > 0);
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

  TEST_CASE("of another file leaves a journal that never gives a wrong row") {
    const TemporaryFolder folder;
    const HalfWritten other = half_written(folder / "other.db");
    REQUIRE(other.file.size() > 0);
    const fs::path path = folder / "a.db";
    some_database(path, 60, 2048);
    write_bytes(path.string() + "-journal", other.journal);
    std::size_t found = 0;
    const std::string message = storage_error([&] {
      const auto database = TuningDatabase::open_read_only(path);
      for (const Trial& trial : database->trials(some_scope(), square(2048))) {
        const auto number = static_cast<int>(trial.configuration.at("NUMBER"));
        CHECK(text_of(trial) == text_of(some_trial(number, 2048)));
        ++found;
      }
      for (const Trial& trial : database->trials(some_scope(), square(1024))) {
        const auto number = static_cast<int>(trial.configuration.at("NUMBER"));
        CHECK(text_of(trial) == text_of(some_trial(number)));
      }
    });
    CAPTURE(message);
    CHECK((found < 60 || message == "no error"));
    CHECK(message.find('\n') == std::string::npos);
  }
}
