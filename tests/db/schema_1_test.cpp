// A database of schema 1: nothing of it is lost, whether it is brought up to date, read as it is,
// or merged.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/json.hpp"
#include "killing_vfs.hpp"
#include "schema_1_content.hpp"
#include "tests/support/failing_vfs.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;

void check_equal(const Content& a, const Content& b) {
  CHECK(a.trials == b.trials);
  CHECK(a.winners == b.winners);
  CHECK(a.runs == b.runs);
  CHECK(a.completed == b.completed);
  CHECK(a.rates == b.rates);
}

bool is_subset(const std::multiset<std::string>& part, const std::multiset<std::string>& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

std::string best_text(const TuningDatabase& database) {
  std::string text;
  for (const Winner& best : database.best_trials({})) text += nlohmann::json(best).dump() + "\n";
  return text;
}

}  // namespace

TEST_SUITE("schema 1") {
  TEST_CASE("all of it survives with the same figures, and later openings write nothing") {
    const TemporaryFolder folder;
    const fs::path old = file_of_schema_1(folder);
    const Content before = content_of_schema_1(old);
    REQUIRE(before.trials.size() == 79);
    REQUIRE(before.winners.size() == 10);
    REQUIRE(before.runs.size() == 9);
    REQUIRE(before.completed.size() == 30);
    REQUIRE(before.rates.size() == 2);

    const fs::path path = folder / "new.db";
    fs::copy_file(old, path);
    check_equal(content_of(TuningDatabase::open(path), old), before);
    const std::string bytes = bytes_of(path);
    const auto time = fs::last_write_time(path);
    const TuningDatabase database = TuningDatabase::open(path);
    check_equal(content_of(database, old), before);
    CHECK(bytes_of(path) == bytes);
    CHECK(fs::last_write_time(path) == time);
    CHECK(database.stats().schema_version == 3);
    CHECK(database.stats().failed_trials == 2);
    CHECK(rows_of(path, "PRAGMA integrity_check") == std::vector<std::string>{"ok#"});
    CHECK(rows_of(path, "PRAGMA foreign_key_check").empty());
    CHECK(rows_of(path, "SELECT name FROM sqlite_master WHERE name LIKE '%schema_1%'").empty());
  }

  TEST_CASE("the tables are those of a new file") {
    const TemporaryFolder folder;
    const fs::path path = file_of_schema_1(folder);
    TuningDatabase::open(path);
    TuningDatabase::open(folder / "new.db");
    const std::string query = "SELECT name, sql FROM sqlite_master ORDER BY name";
    CHECK(rows_of(path, query) == rows_of(folder / "new.db", query));
  }

  TEST_CASE("opening for reading answers the same and leaves the file as it is") {
    const TemporaryFolder folder;
    const fs::path path = file_of_schema_1(folder);
    const std::string bytes = bytes_of(path);
    const Content before = content_of_schema_1(path);
    std::string best;
    {
      const auto database = TuningDatabase::open_read_only(path);
      REQUIRE(database);
      check_equal(content_of(*database, path), before);
      best = best_text(*database);
      CHECK(bytes_of(path) == bytes);
      CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
    }
    CHECK(best_text(TuningDatabase::open(path)) == best);
  }

  TEST_CASE("the CPU is found by its old label and its new one") {
    const TemporaryFolder folder;
    const TuningDatabase database = TuningDatabase::open(file_of_schema_1(folder));
    const std::vector<Winner> winners = database.winners({.device_label = "cpu: AMD EPYC"});
    REQUIRE(winners.size() == 3);
    CHECK(winners[0].device_class == "cpu/AMD EPYC/2 cores");
    CHECK(winners[0].device_label == "cpu: AMD EPYC");
    for (const char* label : {"host: AMD EPYC", "HOST: amd epyc", "CPU: AMD EPYC"}) {
      CHECK(database.winners({.device_label = label}).size() == 3);
      CHECK(database.best_trials({.device_label = label}).size() == 3);
      CHECK(database.all_trials({.device_label = label}).size() == 14);
      CHECK(count_problems(database, {.device_label = label}) == 3);
    }
    CHECK(database.winners({.device_label = "NVIDIA H200"}).size() == 7);
  }

  TEST_CASE("a row that was damaged stays damaged, and no other row is lost") {
    const TemporaryFolder folder;
    const fs::path path = file_of_schema_1(folder);
    const fs::path sound = file_of_schema_1(folder, "sound.db");
    execute(path,
            "UPDATE trial SET detail = 'edited' WHERE id = 3;"
            "UPDATE trial SET m = m + 1 WHERE id = 20;"
            "UPDATE trial SET layout = 'x y' WHERE id = 21;"
            "UPDATE winner SET device_label = 'edited' WHERE m = 24;"
            "UPDATE run SET command = 'edited' WHERE device_label LIKE 'host%' AND id > 1;"
            "UPDATE rates SET fma_gflops = 1 WHERE silicon_class LIKE 'host%';"
            "UPDATE completed SET budget_s = 31 WHERE budget_s = 30");
    for (const bool for_writing : {false, true}) {
      CAPTURE(for_writing);
      const TuningDatabase database = for_writing
                                          ? TuningDatabase::open(path)
                                          : std::move(*TuningDatabase::open_read_only(path));
      const Content whole = content_of_schema_1(sound);
      const Content found = content_of(database, sound);
      CHECK(database.stats().trials == 79);
      CHECK(database.stats().winners == 10);
      CHECK(found.trials.size() == 76);
      CHECK(is_subset(found.winners, whole.winners));
      CHECK(found.winners.size() == 9);
      CHECK(found.rates.size() == 1);
      CHECK(found.completed.size() == 28);
      CHECK(is_subset(found.completed, whole.completed));
    }
  }

  TEST_CASE("a flipped bit never gives a wrong row") {
    const TemporaryFolder folder;
    const fs::path path = file_of_schema_1(folder);
    const fs::path sound = file_of_schema_1(folder, "sound.db");
    const Content whole = content_of_schema_1(sound);
    const std::string bytes = bytes_of(path);
    std::size_t opened = 0;
    std::size_t flips = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 1999) {
      CAPTURE(at);
      ++flips;
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
      write_bytes(path, flipped);
      try {
        const auto database = TuningDatabase::open_read_only(path);
        if (!database) continue;
        const Content found = content_of(*database, sound);
        ++opened;
        CHECK(is_subset(found.winners, whole.winners));
        CHECK(is_subset(found.completed, whole.completed));
        CHECK(is_subset(found.rates, whole.rates));
        // A trial of a damaged run is given without its run.
        CHECK(found.trials.size() <= whole.trials.size());
      } catch (const StorageError& error) {
        CHECK(std::string(error.what()).find('\n') == std::string::npos);
      }
    }
    CHECK(2 * opened > flips);
  }

  TEST_CASE("a migration that is killed at any moment leaves the old file or the new one") {
    const TemporaryFolder folder;
    const fs::path path = folder / "a.db";
    const fs::path old = file_of_schema_1(folder);
    const std::string bytes = bytes_of(old);
    const Content before = content_of_schema_1(old);
    bool was_killed = true;
    int old_files = 0;
    for (int n = 1; was_killed; n += 7) {
      CAPTURE(n);
      REQUIRE(n < 5000);
      fs::remove(path.string() + "-journal");
      write_bytes(path, bytes);
      Child child([&](Child& self) {
        const KillingVfs disk(n);
        TuningDatabase::open(path);
        self.say("done");
      });
      was_killed = child.next_line() != "done";
      const auto database = TuningDatabase::open_read_only(path);
      REQUIRE(database);
      old_files += bytes_of(path) == bytes ? 1 : 0;
      check_equal(content_of(*database, old), before);
    }
    CHECK(old_files > 10);
    check_equal(content_of(TuningDatabase::open(path), old), before);
  }

  TEST_CASE("a migration that the disk has no room for leaves the old file, and says so") {
    const TemporaryFolder folder;
    const fs::path path = file_of_schema_1(folder);
    const std::string bytes = bytes_of(path);
    int failures = 1;
    for (int step = 1; failures > 0; step += 5) {
      CAPTURE(step);
      REQUIRE(step < 5000);
      fs::remove(path.string() + "-journal");
      write_bytes(path, bytes);
      std::string message;
      {
        const FailingVfs disk(step, SQLITE_FULL, true);
        message = storage_error([&] { TuningDatabase::open(path); });
        failures = disk.failures();
      }
      if (failures == 0) break;
      CHECK(message.starts_with(path.string() + ": cannot be "));
      CHECK(TuningDatabase::open_read_only(path)->stats().trials == 79);
      CHECK(bytes_of(path) == bytes);
    }
    CHECK(TuningDatabase::open(path).stats().winners == 10);
  }

  TEST_CASE("triggers, views and indices that somebody put in do no harm") {
    const TemporaryFolder folder;
    const fs::path path = file_of_schema_1(folder);
    const Content before = content_of_schema_1(path);
    execute(path,
            "CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM trial; END;"
            "CREATE TRIGGER u AFTER INSERT ON run BEGIN DELETE FROM winner; END;"
            "CREATE VIEW v AS SELECT t.m, s.silicon_class FROM trial t JOIN scope s ON s.id ="
            " t.scope;"
            "CREATE INDEX i ON trial (m)");
    const fs::path old = file_of_schema_1(folder, "plain.db");
    check_equal(content_of(*TuningDatabase::open_read_only(path), old), before);
    check_equal(content_of(TuningDatabase::open(path), old), before);
  }

  TEST_CASE("it is merged as it is, and once") {
    const TemporaryFolder folder;
    const fs::path old = file_of_schema_1(folder);
    const std::string bytes = bytes_of(old);
    const Content before = content_of_schema_1(old);
    auto database = TuningDatabase::open(folder / "own.db");
    database.add_trials(some_scope(), some_run(), some_trials(0, 3, 64));
    MergeCounts counts = database.merge(old);
    CHECK(counts.trials == 79);
    CHECK(counts.winners == 10);
    CHECK(bytes_of(old) == bytes);
    const Content merged = content_of(database, old);
    CHECK(is_subset(before.trials, merged.trials));
    CHECK(merged.trials.size() == 82);
    CHECK(merged.winners == before.winners);
    CHECK(merged.completed == before.completed);
    CHECK(merged.rates == before.rates);

    counts = database.merge(old);
    CHECK(counts.trials + counts.winners == 0);
    TuningDatabase::open(old);  // brought up to date, it has the same rows
    counts = database.merge(old);
    CHECK(counts.trials + counts.winners == 0);
    CHECK(TuningDatabase::in_memory().merge(old).trials == 79);
  }
}
