// A file that rotted or was cut gives right rows, fewer rows or an error, never a wrong row.
#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "db/migrations/field_hash.hpp"
#include "db_fixture.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;

std::string rates_text(const std::optional<DeviceRates>& rates) {
  return rates ? std::to_string(rates->fma_gflops) + " " + std::to_string(rates->copy_gbps) : "";
}

std::string completed_text(const std::optional<CompletedRequest>& request) {
  return request ? request->key + request->reason + std::to_string(request->budget_s) + " " +
                       std::to_string(request->trials)
                 : "";
}

// All that the file answers.
std::set<std::string> answers(const TuningDatabase& database) {
  std::set<std::string> result;
  for (const std::int64_t size : {1024, 2048}) {
    for (const Trial& trial : database.trials(some_scope(), square(size))) {
      CHECK(trial.problem == square(size));
      result.insert(text_of(trial));
    }
  }
  for (const Winner& winner : database.winners({})) result.insert(text_of(winner));
  for (const Winner& winner : database.winners({.device_label = "NVIDIA H200"}))
    result.insert(text_of(winner));
  result.insert(rates_text(database.rates("class", some_scope().environment)));
  result.insert(completed_text(database.completed("key")));
  return result;
}

// Small pages, so that there are many kinds of them in few bytes.
fs::path small_file(const TemporaryFolder& folder) {
  const fs::path path = folder / "small.db";
  auto database = TuningDatabase::open(path);
  database.add_trials(some_scope(), some_run(), some_trials(0, 4));
  database.add_trials(some_scope(), some_run("run 2"), some_trials(0, 3, 2048));
  database.put_winners(std::vector{some_winner(1024, 100), some_winner(2048, 800)});
  database.put_rates("class", some_scope().environment, {60000, 4000});
  database.put_completed({{"key", "exhausted", 30, 12}});
  SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec("PRAGMA page_size = 512; VACUUM");
  return path;
}

// Reads a damaged copy; its answers must be among `known`.
void check_only(const fs::path& path, const std::set<std::string>& known) {
  try {
    const auto database = TuningDatabase::open_read_only(path);
    if (!database) return;
    const std::set<std::string> found = answers(*database);
    CHECK(std::includes(known.begin(), known.end(), found.begin(), found.end()));
  } catch (const StorageError& error) {
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
  }
}

// The best trials: of a damaged one the next takes its place, so any of those stored may come.
void check_best_trials(const fs::path& path) {
  try {
    const auto database = TuningDatabase::open_read_only(path);
    if (!database) return;
    for (const Winner& best : database->best_trials({})) {
      const int number = static_cast<int>(best.configuration.at("NUMBER"));
      CHECK(best.configuration == some_trial(number).configuration);
      CHECK(best.median_us == 100.0 + number);
      CHECK(best.device_class == some_scope().device_class);
      CHECK(best.device_label == "NVIDIA H200");
      CHECK((best.problem == square(1024) || best.problem == square(2048)));
    }
  } catch (const StorageError&) {
    // told, which is right too
  }
}

}  // namespace

TEST_SUITE("damage") {
  TEST_CASE("a flipped bit never gives a wrong row") {
    const TemporaryFolder folder;
    const fs::path path = small_file(folder);
    const std::string sound = bytes_of(path);
    std::set<std::string> known = answers(*TuningDatabase::open_read_only(path));
    REQUIRE(known.size() == 11);
    known.insert("");  // nothing known of a request or of rates
    for (std::size_t at = 0; at < sound.size(); at += at < 100 ? 1 : 17) {
      CAPTURE(at);
      std::string bytes = sound;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
      write_bytes(path, bytes);
      check_only(path, known);
      check_best_trials(path);
    }
  }

  TEST_CASE("a cut file is told or gives right rows") {
    const TemporaryFolder folder;
    const fs::path path = small_file(folder);
    const std::string sound = bytes_of(path);
    std::set<std::string> known = answers(*TuningDatabase::open_read_only(path));
    known.insert("");
    for (std::size_t length = 1; length < sound.size(); length += length < 110 ? 7 : 173) {
      CAPTURE(length);
      write_bytes(path, sound.substr(0, length));
      check_only(path, known);
      // Opening for writing neither repairs nor shortens it further.
      if (storage_error([&] { TuningDatabase::open(path); }) != "no error") {
        CHECK(bytes_of(path) == sound.substr(0, length));
      }
    }
  }

  TEST_CASE("a page of zeros never gives a wrong row") {
    const TemporaryFolder folder;
    const fs::path path = small_file(folder);
    const std::string sound = bytes_of(path);
    std::set<std::string> known = answers(*TuningDatabase::open_read_only(path));
    known.insert("");
    for (std::size_t page = 0; page < sound.size(); page += 512) {
      std::string bytes = sound;
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(page), 512, '\0');
      write_bytes(path, bytes);
      check_only(path, known);
      check_best_trials(path);
    }
  }

  // The pages as the journal of another file leaves them.
  TEST_CASE("pages that changed places never give a wrong row") {
    const TemporaryFolder folder;
    const fs::path path = small_file(folder);
    const std::string sound = bytes_of(path);
    std::set<std::string> known = answers(*TuningDatabase::open_read_only(path));
    known.insert("");
    constexpr std::size_t kPage = 512;
    for (std::size_t one = 0; one < sound.size(); one += kPage) {
      for (std::size_t other = one + kPage; other < sound.size(); other += 3 * kPage) {
        CAPTURE(one);
        CAPTURE(other);
        std::string bytes = sound;
        bytes.replace(one, kPage, sound, other, kPage);
        bytes.replace(other, kPage, sound, one, kPage);
        write_bytes(path, bytes);
        check_only(path, known);
        check_best_trials(path);
      }
    }
  }

  TEST_CASE("rows that were edited by hand are skipped") {
    const TemporaryFolder folder;
    const fs::path path = small_file(folder);
    const auto after = [&](const std::string& edit) {
      SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec(edit);
      return TuningDatabase::open(path);
    };
    CHECK(after("INSERT INTO problem VALUES (3, 'gemm', '" + square(4096).key() + "')")
              .winners({})
              .size() == 2);
    CHECK(after("UPDATE winner SET problem = 3 WHERE problem = 1").winners({}).size() == 1);
    CHECK(after("UPDATE trial SET median_us = 1 WHERE id = 2")
              .trials(some_scope(), square(1024))
              .size() == 3);
    // The fastest is damaged: the next is the best.
    const auto best = after("UPDATE trial SET detail = 'x' WHERE id = 1").best_trials({});
    REQUIRE(best.size() == 2);
    CHECK(best[0].median_us == 102);
    CHECK_FALSE(after("UPDATE completed SET trials = 13").completed("key"));
    CHECK_FALSE(after("UPDATE rates SET fma_gflops = 1").rates("class", some_scope().environment));
    CHECK(after("UPDATE run SET device_label = 'another' WHERE guid = 'run 2'")
              .best_trials({})
              .size() == 1);
    CHECK(after("UPDATE problem SET key = '" + square(512).key() + "' WHERE id = 1")
              .trials(some_scope(), square(512))
              .empty());
    CHECK(after("UPDATE scope SET device_class = 'another'").best_trials({}).empty());
  }

  // A program that has no such checks may have written them, with the right hash.
  TEST_CASE("times that are none are skipped, whatever their hash") {
    TuningDatabase database = TuningDatabase::in_memory();
    const double infinity = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<Trial> trials = some_trials(0, 4);
    trials[0].measurement.median_us = infinity;
    trials[1].measurement.median_us = nan;
    trials[2].measurement.median_us = 0;
    database.add_trials(some_scope(), some_run(), trials);
    REQUIRE(database.trials(some_scope(), square(1024)).size() == 1);
    CHECK(database.best_trials({}).front().median_us == 103);
    int seen = 0;
    database.visit_trials({}, "", [&](const TrialRow& row) { seen += row.median_us == 103; });
    CHECK(seen == 1);

    Winner winner = some_winner(1024, 100);
    for (double* const figure : {&winner.median_us, &winner.low_us, &winner.high_us}) {
      const double sound = std::exchange(*figure, nan);
      database.put_winners({&winner, 1});
      CHECK(database.winners({}).empty());
      *figure = sound;
    }
    winner.baseline = BaselineTime{.median_us = infinity};
    database.put_winners({&winner, 1});
    CHECK(database.winners({}).empty());
    database.put_rates("class", some_scope().environment, {infinity, 1});
    CHECK_FALSE(database.rates("class", some_scope().environment));
  }

  TEST_CASE("a column and its JSON that differ are no time, whatever their hash") {
    const TemporaryFolder folder;
    const fs::path path = small_file(folder);
    SQLite::Database file(path.string(), SQLite::OPEN_READWRITE);
    add_field_hash(file);
    const auto after = [&](const std::string& edit) {
      file.exec(edit +
                " WHERE id = 1;"
                "UPDATE trial SET row_hash = (SELECT field_hash(s.device_class, s.template,"
                " s.space_version, s.source_hash, s.driver, s.nvrtc_build, s.protocol, r.guid,"
                " p.key, trial.configuration, trial.status, trial.detail, trial.median_us,"
                " trial.measurement, trial.verification, trial.resources) FROM scope s, run r,"
                " problem p WHERE s.id = trial.scope AND r.id = trial.run AND p.id ="
                " trial.problem) WHERE id = 1");
      return TuningDatabase::open(path).trials(some_scope(), square(1024)).size();
    };
    CHECK(after("UPDATE trial SET detail = 'x'") == 4);
    CHECK(after("UPDATE trial SET measurement = '{\"median_us\": null}'") == 3);
    CHECK(after("UPDATE trial SET measurement = '{\"median_us\": 0}'") == 3);
    CHECK(after("UPDATE trial SET measurement = '{\"median_us\": 100.0}'") == 4);
    CHECK(after("UPDATE trial SET measurement = '{\"x\": \"' || hex(zeroblob(3000000)) || "
                "'\", \"median_us\": 100.0}'") == 3);
  }
}
