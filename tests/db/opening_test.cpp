// TuningDatabase::open() with all kinds of files.
#include <chrono>
#include <fstream>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db_fixture.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// A file with three trials, closed.
fs::path some_file(const TemporaryFolder& folder) {
  const fs::path path = folder / "some.db";
  auto database = TuningDatabase::open(path);
  database.add_trials(some_scope(), some_run(), some_trials(0, 3));
  database.put_winners(std::vector{some_winner(1024, 100)});
  return path;
}

// Both ways of opening refuse the file in one line that names it, and leave it as it is.
void check_refused(const fs::path& path, const std::string& why) {
  const std::string before = fs::is_regular_file(path) ? bytes_of(path) : "";
  const std::string messages[] = {
      storage_error([&] { TuningDatabase::open(path, milliseconds(50)); }),
      storage_error([&] { TuningDatabase::open_read_only(path, milliseconds(50)); })};
  for (const std::string& message : messages) {
    CAPTURE(message);
    CHECK(message.find(path.string()) == 0);
    CHECK(message.find(why) != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
  }
  if (fs::is_regular_file(path)) CHECK(bytes_of(path) == before);
}

struct stat status_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status;
}

}  // namespace

TEST_SUITE("opening a database") {
  TEST_CASE("a new file and its folders are private") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a" / "b" / "new.db";
    TuningDatabase::open(path);
    CHECK((status_of(path).st_mode & 0777) == 0600);
    CHECK((status_of(folder / "a").st_mode & 0777) == 0700);
    CHECK((status_of(folder / "a" / "b").st_mode & 0777) == 0700);
  }

  TEST_CASE("opening and reading a current file writes nothing") {
    const TemporaryFolder folder;
    const fs::path path = some_file(folder);
    const std::string bytes = bytes_of(path);
    const struct stat before = status_of(path);
    const struct stat folder_before = status_of(folder.path());
    for (int i = 0; i < 2; ++i) {
      const auto database = TuningDatabase::open(path);
      CHECK(database.trials(some_scope(), square(1024)).size() == 3);
      CHECK(database.winners({}).size() == 1);
      CHECK(TuningDatabase::open_read_only(path)->stats().trials == 3);
    }
    const struct stat after = status_of(path);
    const struct stat folder_after = status_of(folder.path());
    CHECK(bytes_of(path) == bytes);
    CHECK(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
    CHECK(after.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
    CHECK(folder_after.st_mtim.tv_nsec == folder_before.st_mtim.tv_nsec);
  }

  TEST_CASE("reading where there is no file finds none and makes none") {
    const TemporaryFolder folder;
    CHECK_FALSE(TuningDatabase::open_read_only(folder / "none.db"));
    CHECK_FALSE(fs::exists(folder / "none.db"));
    write_bytes(folder / "empty.db", "");
    CHECK_FALSE(TuningDatabase::open_read_only(folder / "empty.db"));
  }

  TEST_CASE("a file that cannot be reached is a fault and not an absent one") {
    const TemporaryFolder folder;
    write_bytes(folder / "file", "x");
    check_refused(folder / "file" / "a.db", "cannot be opened");
  }

  TEST_CASE("an empty file is taken") {
    const TemporaryFolder folder;
    write_bytes(folder / "empty.db", "");
    auto database = TuningDatabase::open(folder / "empty.db");
    database.add_trials(some_scope(), some_run(), some_trials(0, 1));
    CHECK(database.stats().trials == 1);
  }

  TEST_CASE("a text file is refused") {
    const TemporaryFolder folder;
    write_bytes(folder / "notes.txt", "these are my notes\n");
    check_refused(folder / "notes.txt", "is not a database");
    write_bytes(folder / "long.txt", std::string(10'000, 'x'));
    check_refused(folder / "long.txt", "is not a database");
  }

  TEST_CASE("another program's database is refused") {
    const TemporaryFolder folder;
    execute(folder / "foreign.db", "CREATE TABLE t (a)");
    check_refused(folder / "foreign.db", "is not a tuning database of autotune");
    execute(folder / "named.db", "CREATE TABLE t (a); PRAGMA application_id = 77");
    check_refused(folder / "named.db", "is not a tuning database of autotune");
  }

  TEST_CASE("a file from the future is refused") {
    const TemporaryFolder folder;
    const fs::path path = some_file(folder);
    execute(path, "PRAGMA user_version = 99");
    check_refused(path, "newer autotune (schema 99");
  }

  TEST_CASE("a schema version that is none is refused") {
    const TemporaryFolder folder;
    const fs::path path = some_file(folder);
    for (const char* version : {"0", "-1", "-2147483648"}) {
      execute(path, std::string("PRAGMA user_version = ") + version);
      check_refused(path, "is damaged");
    }
  }

  TEST_CASE("a damaged page is refused when it is met") {
    const TemporaryFolder folder;
    const fs::path path = some_file(folder);
    std::string bytes = bytes_of(path);
    std::fill(bytes.begin() + 100, bytes.end(), '\x5a');
    write_bytes(path, bytes);
    check_refused(path, "is damaged");
  }

  TEST_CASE("a path that is not a file is refused") {
    const TemporaryFolder folder;
    fs::create_directory(folder / "folder.db");
    check_refused(folder / "folder.db", "is a directory");
    REQUIRE(::mkfifo((folder / "pipe.db").c_str(), 0600) == 0);
    check_refused(folder / "pipe.db", "is not a regular file");
    check_refused("/dev/zero", "is not a regular file");
  }

  TEST_CASE("a link is refused but a folder behind a link is not") {
    const TemporaryFolder folder;
    const fs::path path = some_file(folder);
    fs::create_symlink(path, folder / "link.db");
    check_refused(folder / "link.db", "is a symbolic link");
    fs::create_symlink(folder / "nowhere.db", folder / "dangling.db");
    check_refused(folder / "dangling.db", "is a symbolic link");
    CHECK_FALSE(fs::exists(folder / "nowhere.db"));

    fs::create_directory(folder / "real");
    fs::create_directory_symlink(folder / "real", folder / "linked");
    TuningDatabase::open(folder / "linked" / "a.db");
    CHECK(fs::exists(folder / "real" / "a.db"));
  }

  TEST_CASE("names with spaces and other signs work") {
    const TemporaryFolder folder;
    for (const char* name : {"a b.db", "file:a.db", "q?mode=ro", "\xc3\xa4\n.db", "100%25.db"}) {
      TuningDatabase::open(folder / name).put_completed({{"key", "budget", 1, 1}});
      CHECK(fs::exists(folder / name));
      CHECK(TuningDatabase::open_read_only(folder / name)->completed("key"));
    }
  }

  TEST_CASE("a file that may only be read is read and not opened for writing") {
    const TemporaryFolder folder;
    const fs::path path = some_file(folder);
    give_to_nobody({folder.path(), path});
    fs::permissions(path, fs::perms(0444));
    Child child([&](Child& self) {
      become_nobody();
      self.say(storage_error([&] { TuningDatabase::open(path); }));
      self.say(std::to_string(TuningDatabase::open_read_only(path)->stats().trials));
    });
    CHECK(child.next_line() == path.string() + ": cannot be written: check its permissions");
    CHECK(child.next_line() == "3");
  }

  TEST_CASE("a disk that has no room for a journal is said to have none") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    Child child([&](Child& self) {
      if (::unshare(CLONE_NEWNS) != 0 ||
          ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          ::mount("none", folder.path().c_str(), "tmpfs", 0, "nr_inodes=8") != 0) {
        return self.say("cannot mount");
      }
      TuningDatabase database = TuningDatabase::open(path);
      for (int i = 0; i < 8; ++i) std::ofstream(folder / std::to_string(i));
      self.say(storage_error([&] { database.put_completed({{"key", "budget", 1, 1}}); }));
    });
    const std::string said = child.next_line();
    if (said == "cannot mount") {
      MESSAGE("SKIPPED: nothing may be mounted here");
      return;
    }
    CHECK(said == path.string() +
                      ": cannot be written: its folder takes no journal: No space left on device "
                      "(see df -i)");
  }

  TEST_CASE("a folder that may only be read is told before anything is tuned") {
    const TemporaryFolder folder;
    const fs::path path = some_file(folder);
    give_to_nobody({folder.path(), path});
    fs::permissions(folder.path(), fs::perms(0555));
    Child child([&](Child& self) {
      become_nobody();
      self.say(storage_error([&] { TuningDatabase::open(path); }));
      self.say(std::to_string(TuningDatabase::open_read_only(path)->stats().trials));
      self.say(storage_error([&] { TuningDatabase::open(folder / "new.db"); }));
    });
    CHECK(child.next_line() == path.string() + ": cannot be written: its folder is read-only");
    CHECK(child.next_line() == "3");
    CHECK(child.next_line() ==
          (folder / "new.db").string() + ": cannot be made: Permission denied");
    fs::permissions(folder.path(), fs::perms(0700));
  }

  TEST_CASE("a file that may not be read is a fault") {
    const TemporaryFolder folder;
    const fs::path path = some_file(folder);
    give_to_nobody({folder.path(), path});
    fs::permissions(path, fs::perms(0));
    Child child([&](Child& self) {
      become_nobody();
      self.say(storage_error([&] { TuningDatabase::open(path); }));
      self.say(storage_error([&] { TuningDatabase::open_read_only(path); }));
    });
    CHECK(child.next_line().find("cannot be opened: check") != std::string::npos);
    CHECK(child.next_line().find("cannot be opened: check") != std::string::npos);
  }

  TEST_CASE("triggers and views that somebody put in do not run") {
    const TemporaryFolder folder;
    const fs::path path = some_file(folder);
    execute(path, "CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM trial; END");
    auto database = TuningDatabase::open(path);
    database.add_trials(some_scope(), some_run(), some_trials(3, 1));
    CHECK(database.stats().trials == 4);
  }

  TEST_CASE("a write-ahead log that somebody switched on goes") {
    const TemporaryFolder folder;
    const fs::path path = some_file(folder);
    SQLite::Database(path.string(), SQLite::OPEN_READWRITE).execAndGet("PRAGMA journal_mode = WAL");
    auto database = TuningDatabase::open(path);
    database.add_trials(some_scope(), some_run(), some_trials(3, 1));
    CHECK_FALSE(fs::exists(path.string() + "-wal"));
    CHECK(database.stats().trials == 4);
  }

  TEST_CASE("a write-ahead log of a file that another program has open is used") {
    const TemporaryFolder folder;
    const fs::path path = some_file(folder);
    {
      SQLite::Database other(path.string(), SQLite::OPEN_READWRITE);
      other.execAndGet("PRAGMA journal_mode = WAL");
      other.execAndGet("SELECT COUNT(*) FROM trial");
      auto database = TuningDatabase::open(path);
      database.add_trials(some_scope(), some_run(), some_trials(3, 1));
      CHECK(other.execAndGet("SELECT COUNT(*) FROM trial").getInt() == 4);
      CHECK(TuningDatabase::open_read_only(path)->stats().trials == 4);
    }
    CHECK(TuningDatabase::open(path).stats().trials == 4);
    CHECK_FALSE(fs::exists(path.string() + "-wal"));
  }

  TEST_CASE("tables that autotune did not make, and values too large to read, are told") {
    const std::pair<const char*, const char*> changes[] = {
        {"DROP TABLE winner", "has other tables than autotune makes (no such table: winner)"},
        {"ALTER TABLE winner RENAME TO other; CREATE VIEW winner AS SELECT * FROM other",
         "has other tables than autotune makes (access to view \"winner\" prohibited)"},
        {"UPDATE winner SET body = hex(zeroblob(34 << 20))", "has a value of more than 64 MiB"}};
    for (const auto& [change, says] : changes) {
      CAPTURE(change);
      const TemporaryFolder folder;
      const fs::path path = some_file(folder);
      execute(path, change);
      const auto database = TuningDatabase::open(path);
      const std::string message = storage_error([&] { static_cast<void>(database.winners({})); });
      CHECK(message.find(path.string()) == 0);
      CHECK(message.find(says) != std::string::npos);
    }
  }
}
