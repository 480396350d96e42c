// Power that is lost at any moment: what was committed is there, and nothing of what was not.
//
// All that SQLite does to its files is recorded. For every moment of it the files are made again as
// a disk may hold them then: what was synced, and of the rest all, nothing, every other change, or
// the last one torn.
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "db_fixture.hpp"
#include "tests/support/vfs_shim.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;
using Kind = FileChange::Kind;

struct RecordedChange {
  Kind kind;
  std::string path;
  bool makes_file;
  std::size_t at;
  std::string data;
  bool folder_is_synced;
};

class RecordingVfs : public VfsShim {
 public:
  std::vector<RecordedChange> changes;

  int before(const FileChange& change) override {
    if (change.kind == Kind::lock) return 0;
    changes.push_back({change.kind, std::string(change.path), change.makes_file,
                       static_cast<std::size_t>(change.at), std::string(change.data),
                       change.folder_is_synced});
    return 0;
  }
};

// Which of the changes that were not synced a disk holds nevertheless.
enum class Unsynced { all, none, even, odd, last_torn };

// Returns whether the first `end` changes contain a sync that keeps change `i`. A sync keeps the
// earlier changes to its file; the first one of a new file also keeps those to its folder.
bool is_synced(const std::vector<RecordedChange>& changes, std::size_t i, std::size_t end) {
  const RecordedChange& change = changes[i];
  if (change.kind == Kind::remove && change.folder_is_synced) return true;
  for (std::size_t j = i + 1; j < end; ++j) {
    if (changes[j].kind == Kind::remove && changes[j].folder_is_synced) {
      if (change.kind == Kind::remove) return true;
    } else if (changes[j].kind == Kind::sync) {
      if (change.kind == Kind::remove || changes[j].path == change.path) return true;
    } else if (changes[j].kind == Kind::remove && changes[j].path == change.path) {
      return false;  // a file of that name, later, is another one
    }
  }
  return false;
}

bool survives(Unsynced unsynced, std::size_t i) {
  switch (unsynced) {
    case Unsynced::all:
    case Unsynced::last_torn:
      return true;
    case Unsynced::none:
      return false;
    case Unsynced::even:
      return i % 2 == 0;
    case Unsynced::odd:
      return i % 2 == 1;
  }
  return false;
}

void make(const RecordedChange& change, std::map<std::string, std::string>& files) {
  if (change.kind == Kind::remove) {
    files.erase(change.path);
  } else if (change.kind == Kind::open) {
    if (change.makes_file) files[change.path].clear();
  } else if (change.kind == Kind::truncate) {
    files[change.path].resize(change.at);
  } else if (change.kind == Kind::write) {
    std::string& bytes = files[change.path];
    bytes.resize(std::max(bytes.size(), change.at + change.data.size()));
    bytes.replace(change.at, change.data.size(), change.data);
  }
}

// The content of a disk, by file, when power is lost before change number `end`.
std::map<std::string, std::string> files_after(const std::vector<RecordedChange>& changes,
                                               std::size_t end, Unsynced unsynced) {
  std::map<std::string, std::string> files;
  for (std::size_t i = 0; i < end; ++i) {
    const bool synced = is_synced(changes, i, end);
    if (!synced && !survives(unsynced, i)) continue;
    RecordedChange change = changes[i];
    if (!synced && unsynced == Unsynced::last_torn && i + 1 == end) {
      change.data.resize(change.data.size() / 2);
    }
    make(change, files);
  }
  return files;
}

}  // namespace

TEST_SUITE("power loss") {
  TEST_CASE("at any moment leaves all that was committed and no part of the rest") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    RecordingVfs disk;
    // By the number of changes that were made: trials that a caller was told are stored.
    std::map<std::size_t, int> committed = {{0, 0}};
    {
      auto database = TuningDatabase::open(path);
      int stored = 0;
      for (const int batch : {1, 40, 2}) {
        database.add_trials(some_scope(), some_run("run " + std::to_string(stored)),
                            some_trials(stored, batch));
        stored += batch;
        committed[disk.changes.size()] = stored;
        database.put_winners(std::vector{some_winner(1024, 100 + stored)});
      }
    }
    REQUIRE(disk.changes.size() > 100);
    const std::vector<RecordedChange> changes = disk.changes;

    std::set<std::tuple<std::map<std::string, std::string>, int, int>> seen;
    for (std::size_t end = 0; end <= changes.size(); ++end) {
      const auto next = committed.upper_bound(end);
      const int least = std::prev(next)->second;
      const int most = next == committed.end() ? least : next->second;
      for (const Unsynced unsynced :
           {Unsynced::all, Unsynced::none, Unsynced::even, Unsynced::odd, Unsynced::last_torn}) {
        CAPTURE(end);
        CAPTURE(static_cast<int>(unsynced));
        const auto files = files_after(changes, end, unsynced);
        if (!seen.emplace(files, least, most).second) continue;
        const fs::path journal = path.string() + "-journal";
        fs::remove(journal);
        const auto bytes = [&](const fs::path& file) {
          const auto found = files.find(file.string());
          return found == files.end() ? std::string() : found->second;
        };
        write_bytes(path, bytes(path));
        if (files.contains(journal.string())) write_bytes(journal, bytes(journal));

        const auto database = TuningDatabase::open(path);
        const std::vector<Trial> trials = database.trials(some_scope(), square(1024));
        const auto found = static_cast<int>(trials.size());
        CHECK((found == least || found == most));
        // None of the rows is damaged.
        CHECK(database.stats().trials == found);
        CHECK(database.stats().winners == std::ssize(database.winners({})));
        for (int i = 0; i < found; ++i) {
          CHECK(text_of(trials[static_cast<std::size_t>(i)]) == text_of(some_trial(i)));
        }
        SQLite::Database raw(path.string());
        CHECK(raw.execAndGet("PRAGMA integrity_check").getString() == "ok");
      }
    }
  }
}
