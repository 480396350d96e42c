// Databases of several machines or shards become one.
#include <algorithm>

#include <doctest/doctest.h>

#include "db_fixture.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

std::vector<std::string> sorted_texts(const TuningDatabase& database, std::int64_t size) {
  std::vector<std::string> texts;
  for (const Trial& trial : database.trials(some_scope(), square(size))) {
    texts.push_back(text_of(trial));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace

TEST_SUITE("merging databases") {
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
