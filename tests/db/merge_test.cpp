// Databases of several machines or shards become one.
#include <algorithm>

#include <doctest/doctest.h>

#include "db/migrations/field_hash.hpp"
#include "db_fixture.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;

std::vector<std::string> sorted_texts(const TuningDatabase& database, std::int64_t size) {
  std::vector<std::string> texts;
  for (const Trial& trial : database.trials(some_scope(), square(size))) {
    texts.push_back(text_of(trial));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

// Flips a bit of the last letter of `text` on the first page of a table or an index.
void flip_in(const fs::path& path, const std::string& name, const std::string& text) {
  SQLite::Database database(path.string());
  const auto number = [&](const std::string& query) {
    return static_cast<std::size_t>(database.execAndGet(query).getInt64());
  };
  const std::size_t size = number("PRAGMA page_size");
  const std::size_t page =
      number("SELECT rootpage FROM sqlite_master WHERE name = '" + name + "'") - 1;
  std::string bytes = bytes_of(path);
  const std::size_t at = bytes.substr(0, (page + 1) * size).find(text, page * size);
  REQUIRE(at != std::string::npos);
  bytes[at + text.size() - 1] ^= 4;
  write_bytes(path, bytes);
}

// Places on which rows and indexes disagree once a bit of them is flipped.
struct DamagedPlace {
  const char* name;
  std::string text;
};
const std::string kClass = some_scope().device_class;
const DamagedPlace kTables[] = {{"winner", kClass},
                                {"winner", some_winner(1024, 100).template_name},
                                {"problem", square(2048).key()},
                                {"scope", kClass},
                                {"run", "run 1"}};
const DamagedPlace kIndexes[] = {
    {"sqlite_autoindex_winner_1", kClass}, {"sqlite_autoindex_problem_1", square(2048).key()},
    {"sqlite_autoindex_scope_1", kClass},  {"sqlite_autoindex_run_1", "run 1"},
    {"winner_by_label", "NVIDIA H200"},    {"trial_by_problem", "ok"}};

void fill(const fs::path& path) {
  auto database = TuningDatabase::open(path);
  database.add_trials(some_scope(), some_run(), some_trials(0, 3));
  database.put_winners(std::vector{some_winner(1024, 100), some_winner(2048, 800)});
}

// Checks that the file has the two winners of fill(), each once, and finds them and the trials.
void check_whole(const TuningDatabase& database) {
  const std::vector<Winner> all = database.winners({});
  CHECK(all.size() == 2);
  for (const auto& [size, median_us] : {std::pair{1024, 100}, {2048, 800}}) {
    const auto found = database.winners({.device_class = kClass, .problem = square(size)});
    REQUIRE(found.size() == 1);
    CHECK(text_of(found[0]) == text_of(some_winner(size, median_us)));
  }
  CHECK(database.winners({.device_label = "NVIDIA H200"}).size() == 2);
  CHECK(database.trials(some_scope(), square(1024)).size() == 3);
}

}  // namespace

TEST_SUITE("merging databases") {
  TEST_CASE("a row and an index that disagree are mended by a sound file") {
    const TemporaryFolder folder;
    fill(folder / "good.db");
    const std::string sound = bytes_of(folder / "good.db");
    std::vector<DamagedPlace> places(std::begin(kTables), std::end(kTables));
    places.insert(places.end(), std::begin(kIndexes), std::end(kIndexes) - 1);
    for (const auto& [name, text] : places) {
      CAPTURE(name);
      write_bytes(folder / "bad.db", sound);
      flip_in(folder / "bad.db", name, text);
      auto bad = TuningDatabase::open(folder / "bad.db");
      bad.merge(folder / "good.db");
      check_whole(bad);
      const MergeCounts again = bad.merge(folder / "good.db");
      CHECK(again.trials + again.winners == 0);
    }
  }

  TEST_CASE("a table that cannot be read takes nothing in") {
    const TemporaryFolder folder;
    fill(folder / "good.db");
    // A row of several small pages, of which each names the next.
    Winner large = some_winner(4096, 100);
    for (int i = 0; i < 400; ++i) large.environment.tool_version += std::to_string(i);
    TuningDatabase::open(folder / "bad.db").put_winners({&large, 1});
    execute(folder / "bad.db", "PRAGMA page_size = 512; VACUUM");
    const std::string body = SQLite::Database((folder / "bad.db").string())
                                 .execAndGet("SELECT body FROM winner")
                                 .getString();
    std::string bytes = bytes_of(folder / "bad.db");
    const std::size_t at = bytes.find(body.substr(500, 20));
    REQUIRE(at != std::string::npos);
    bytes.replace(at / 512 * 512, 4, "\xff\xff\xff\xff");
    write_bytes(folder / "bad.db", bytes);
    auto bad = TuningDatabase::open(folder / "bad.db");
    const std::string message = storage_error([&] { bad.merge(folder / "good.db"); });
    CHECK(message.find((folder / "bad.db").string() + ": is damaged") == 0);
    CHECK(bytes_of(folder / "bad.db") == bytes);
  }

  TEST_CASE("a damaged index of the other file keeps nothing back") {
    const TemporaryFolder folder;
    for (const auto& [name, text] : kIndexes) {
      CAPTURE(name);
      fs::remove(folder / "own.db");
      fs::remove(folder / "bad.db");
      fill(folder / "bad.db");
      flip_in(folder / "bad.db", name, text);
      auto own = TuningDatabase::open(folder / "own.db");
      const MergeCounts counts = own.merge(folder / "bad.db");
      CHECK(counts.trials == 3);
      CHECK(counts.winners == 2);
      check_whole(own);
    }
  }

  TEST_CASE("trials are taken in once, whatever their numbers were") {
    const TemporaryFolder folder;
    auto first = TuningDatabase::open(folder / "first.db");
    auto second = TuningDatabase::open(folder / "second.db");
    // The same scope and another one, made in another order, so that numbers of rows differ.
    TrialScope other_scope = some_scope();
    other_scope.source_hash = "another";
    first.add_trials(some_scope(), some_run("run 1"), some_trials(0, 3));
    second.add_trials(other_scope, some_run("run 2"), some_trials(0, 2));
    second.add_trials(some_scope(), some_run("run 2"), some_trials(3, 4));
    second.add_trials(some_scope(), some_run("run 3"), some_trials(0, 2, 2048));

    CHECK(first.merge(folder / "second.db").trials == 8);
    CHECK(first.stats().trials == 11);
    CHECK(first.stats().runs == 3);
    auto whole = TuningDatabase::in_memory();
    whole.add_trials(some_scope(), some_run(), some_trials(0, 7));
    whole.add_trials(some_scope(), some_run(), some_trials(0, 2, 2048));
    CHECK(sorted_texts(first, 1024) == sorted_texts(whole, 1024));
    CHECK(sorted_texts(first, 2048) == sorted_texts(whole, 2048));
    CHECK(first.trials(other_scope, square(1024)).size() == 2);

    CHECK(first.merge(folder / "second.db").trials == 0);
    CHECK(first.stats().trials == 11);
  }

  TEST_CASE("of two winners of a problem the faster stays") {
    const TemporaryFolder folder;
    auto first = TuningDatabase::open(folder / "first.db");
    auto second = TuningDatabase::open(folder / "second.db");
    first.put_winners(std::vector{some_winner(1024, 100), some_winner(2048, 700)});
    second.put_winners(
        std::vector{some_winner(1024, 110), some_winner(2048, 690), some_winner(4096, 5000)});
    CHECK(first.merge(folder / "second.db").winners == 2);
    const std::vector<Winner> winners = first.winners({});
    REQUIRE(winners.size() == 3);
    CHECK(text_of(winners[0]) == text_of(some_winner(1024, 100)));
    CHECK(text_of(winners[1]) == text_of(some_winner(2048, 690)));
    CHECK(text_of(winners[2]) == text_of(some_winner(4096, 5000)));
  }

  TEST_CASE("a newer time of a library comes to the same winner, and to no other") {
    const TemporaryFolder folder;
    auto first = TuningDatabase::open(folder / "first.db");
    auto second = TuningDatabase::open(folder / "second.db");
    const auto timed = [](double winner_us, double library_us, const char* day) {
      Winner winner = some_winner(1024, winner_us);
      winner.baseline = BaselineTime{
          .library = "cublas", .median_us = library_us, .speedup = 2, .measured_at = day};
      return winner;
    };
    const auto merged_us = [&](const Winner& own, const Winner& others) {
      first.put_winners(std::vector{own});
      second.put_winners(std::vector{others});
      static_cast<void>(first.merge(second.path()));
      const Winner merged = first.winners({}).at(0);
      CHECK(merged.median_us == own.median_us);
      return merged.baseline ? merged.baseline->median_us : 0;
    };
    const char* const today = "2026-11-21T05:40:44Z";
    const char* const tomorrow = "2026-11-22T05:40:44Z";
    CHECK(merged_us(some_winner(1024, 100), timed(100, 150, today)) == 150);
    CHECK(merged_us(timed(100, 150, today), timed(100, 160, tomorrow)) == 160);
    CHECK(merged_us(timed(100, 150, tomorrow), timed(100, 160, today)) == 150);
    CHECK(merged_us(timed(100, 150, today), timed(110, 160, tomorrow)) == 160);
    Winner another = timed(110, 160, tomorrow);
    another.configuration = Configuration({{"TILE_WIDTH", 7}});
    CHECK(merged_us(timed(100, 150, today), another) == 150);

    CHECK_FALSE(first.put_baseline(another, *another.baseline));
    CHECK(first.put_baseline(some_winner(1024, 100), *another.baseline));
    CHECK(first.winners({}).at(0).baseline == another.baseline);
    CHECK(text_of(first.winners({}).at(0)) == text_of(timed(100, 160, tomorrow)));
  }

  TEST_CASE("a merged winner keeps what a newer program has written into its row") {
    const TemporaryFolder folder;
    auto first = TuningDatabase::open(folder / "first.db");
    TuningDatabase::open(folder / "second.db").put_winners(std::vector{some_winner(1024, 100)});
    SQLite::Database newer((folder / "second.db").string(), SQLite::OPEN_READWRITE);
    add_field_hash(newer);
    newer.exec(
        "UPDATE winner SET body = json_set(body, '$.of_tomorrow', 7);"
        "UPDATE winner SET row_hash = field_hash(device_class, template, (SELECT key FROM problem"
        " WHERE id = winner.problem), device_label, body)");
    CHECK(first.merge(folder / "second.db").winners == 1);
    REQUIRE(first.winners({}).size() == 1);
    SQLite::Database merged((folder / "first.db").string());
    CHECK(merged.execAndGet("SELECT body -> '$.of_tomorrow' FROM winner").getInt() == 7);
  }

  TEST_CASE("damaged rows are left out, and sound ones take the places of damaged ones") {
    const TemporaryFolder folder;
    const auto fill = [&](const char* name) {
      auto database = TuningDatabase::open(folder / name);
      database.add_trials(some_scope(), some_run(), some_trials(0, 3));
      database.put_winners(std::vector{some_winner(1024, 100)});
      database.put_rates("class", some_scope().environment, {60000, 4000});
      database.put_completed({{"key", "exhausted", 30, 12}});
    };
    fill("good.db");
    const std::string sound = bytes_of(folder / "good.db");
    for (const auto& [damage, count] :
         {std::pair{"UPDATE winner SET body = json_set(body, '$.median_us', 0.001)", 1},
          {"UPDATE winner SET body = '{x'", 1},
          {"UPDATE winner SET problem = 99", 1},
          {"UPDATE trial SET measurement = 'x' WHERE id = 2", 1},
          {"UPDATE trial SET run = 99, problem = 99 - id", 3},
          {"UPDATE rates SET fma_gflops = 1", 1},
          {"UPDATE completed SET trials = 1", 1},
          {"UPDATE run SET device_label = 'x'", 0}}) {  // the run's trials are sound
      CAPTURE(damage);
      write_bytes(folder / "bad.db", sound);
      execute(folder / "bad.db", damage);
      auto good = TuningDatabase::open(folder / "good.db");
      auto bad = TuningDatabase::open(folder / "bad.db");
      const MergeCounts none = good.merge(folder / "bad.db");
      CHECK(none.trials + none.winners == 0);
      CHECK(none.damaged == count);
      CHECK(bytes_of(folder / "good.db") == sound);
      bad.merge(folder / "good.db");
      CHECK(sorted_texts(bad, 1024) == sorted_texts(good, 1024));
      REQUIRE(bad.winners({}).size() == 1);
      CHECK(bad.winners({})[0].median_us == 100);
      CHECK(bad.rates("class", some_scope().environment)->fma_gflops == 60000);
      CHECK(bad.completed("key")->trials == 12);
      CHECK(bad.best_trials({})[0].device_label == "NVIDIA H200");
      const MergeCounts again = bad.merge(folder / "good.db");
      CHECK(again.trials + again.winners == 0);
    }
  }

  TEST_CASE("a database with other tables than ours is refused, and costs no time") {
    const TemporaryFolder folder;
    TuningDatabase::open(folder / "evil.db")
        .add_trials(some_scope(), some_run(), some_trials(0, 1));
    execute(folder / "evil.db",
            "PRAGMA foreign_keys = OFF; CREATE TABLE other (id INTEGER PRIMARY KEY, template TEXT,"
            " space_version INT, source_hash TEXT, driver TEXT, nvrtc_build TEXT, protocol INT,"
            " device_class TEXT GENERATED ALWAYS AS (printf('%.*c', 500000000, 'x')));"
            "INSERT INTO other (id) SELECT id FROM scope; DROP TABLE scope;"
            "ALTER TABLE other RENAME TO scope");
    auto database = TuningDatabase::open(folder / "own.db");
    const std::string before = bytes_of(folder / "own.db");
    const std::string message = storage_error([&] { database.merge(folder / "evil.db"); });
    CHECK(message ==
          (folder / "evil.db").string() + ": has other tables than autotune makes: not used");
    CHECK(bytes_of(folder / "own.db") == before);
  }

  TEST_CASE("rows that anybody added by hand are left out, however many") {
    const TemporaryFolder folder;
    TuningDatabase::open(folder / "evil.db").put_winners(std::vector{some_winner(1024, 100)});
    execute(folder / "evil.db",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
            " INSERT INTO winner SELECT i + 1, device_class || i, problem, template, device_label,"
            " body, row_hash FROM winner, n");
    auto database = TuningDatabase::open(folder / "own.db");
    CHECK(database.merge(folder / "evil.db").winners == 1);
    CHECK(fs::file_size(folder / "own.db") < 200'000);
  }

  TEST_CASE("the database that is damaged is the one that is named") {
    const TemporaryFolder folder;
    TuningDatabase::open(folder / "bad.db")
        .add_trials(some_scope(), some_run(), some_trials(0, 99));
    auto database = TuningDatabase::open(folder / "own.db");
    std::string bytes = bytes_of(folder / "bad.db");
    std::fill(bytes.begin() + 20'000, bytes.end(), '\x5a');
    write_bytes(folder / "bad.db", bytes);
    const std::string message = storage_error([&] { database.merge(folder / "bad.db"); });
    CHECK(message.find((folder / "bad.db").string() + ": is damaged") == 0);
  }

  TEST_CASE("completed requests and rates come along and replace nothing") {
    const TemporaryFolder folder;
    auto first = TuningDatabase::open(folder / "first.db");
    auto second = TuningDatabase::open(folder / "second.db");
    const Environment environment = some_scope().environment;
    first.put_completed({{"both", "budget", 30, 12}});
    first.put_rates("class", environment, {60000, 4000});
    second.put_completed({{"both", "exhausted", 0, 400}});
    second.put_completed({{"new", "exhausted", 0, 7}});
    second.put_rates("class", environment, {50000, 3000});
    second.put_rates("new", environment, {1000, 100});
    static_cast<void>(first.merge(folder / "second.db"));
    CHECK(first.completed("both")->reason == "budget");
    CHECK(first.completed("new")->trials == 7);
    CHECK(first.rates("class", environment)->fma_gflops == 60000);
    CHECK(first.rates("new", environment)->copy_gbps == 100);
  }

  TEST_CASE("what cannot be merged changes nothing, and the database can be used on") {
    const TemporaryFolder folder;
    auto database = TuningDatabase::open(folder / "own.db");
    database.add_trials(some_scope(), some_run(), some_trials(0, 1));
    write_bytes(folder / "text.db",
                "no database, but as long as the header of one would be: 100 "
                "bytes or more, in which SQLite finds nothing that it knows");
    for (const char* name : {"missing.db", "text.db"}) {
      const std::string message = storage_error([&] { database.merge(folder / name); });
      CAPTURE(message);
      CHECK(message.find((folder / name).string()) == 0);
    }
    CHECK_THROWS_AS(database.merge(folder / "own.db"), UsageError);
    database.add_trials(some_scope(), some_run(), some_trials(1, 1));
    CHECK(database.stats().trials == 2);
  }

  TEST_CASE("results with times that are not possible by the stored rates are left out") {
    const TemporaryFolder folder;
    auto database = TuningDatabase::open(folder / "own.db");
    auto other = TuningDatabase::open(folder / "other.db");
    other.add_trials(some_scope(), some_run(), some_trials(0, 3));
    const double slowest = some_trial(2).measurement.median_us;
    other.put_winners(std::vector{some_winner(1024, slowest), some_winner(2048, 1e-300)});
    other.put_rates(kClass, some_scope().environment, {50000, 4000});
    std::vector<double> rates;
    const auto is_possible = [&](const std::string& template_name, const Problem&, double us,
                                 const std::optional<DeviceRates>& known) {
      CHECK(template_name == some_scope().template_name);
      rates.push_back(known ? known->fma_gflops : 0);
      return us >= slowest;
    };
    const MergeCounts counts = database.merge(folder / "other.db", is_possible);
    CHECK(counts.trials == 1);
    CHECK(counts.winners == 1);
    CHECK(counts.impossible == 3);
    CHECK(rates == std::vector<double>(5, 50000));
    database.put_rates(kClass, some_scope().environment, {60000, 4000});
    rates.clear();
    CHECK(database.merge(folder / "other.db", is_possible).impossible == 3);
    CHECK(rates == std::vector<double>(5, 60000));
  }

  TEST_CASE("a database in memory takes others in too") {
    const TemporaryFolder folder;
    {
      auto file = TuningDatabase::open(folder / "file.db");
      file.add_trials(some_scope(), some_run(), some_trials(0, 3));
    }
    auto memory = TuningDatabase::in_memory();
    CHECK(memory.merge(folder / "file.db").trials == 3);
    CHECK(memory.trials(some_scope(), square(1024)).size() == 3);
  }
}
