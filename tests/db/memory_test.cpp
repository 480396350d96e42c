// Databases in a process that runs out of memory.
#include <stdexcept>

#include <doctest/doctest.h>

#include "db/cubin_store.hpp"
#include "db/trial_writer.hpp"
#include "db_fixture.hpp"
#include "tests/support/failing_memory.hpp"

using namespace autotune;
using namespace autotune::test;

namespace {

namespace fs = std::filesystem;

// A file with three trials and a winner. check() finds these, and makes the file anew.
struct SmallFile {
  TemporaryFolder folder;
  fs::path path = folder / "a.db";
  std::string content;

  SmallFile() {
    TuningDatabase database = TuningDatabase::open(path);
    database.add_trials(some_scope(), some_run(), some_trials(0, 3));
    database.put_winners(std::vector{some_winner(1024, 100)});
    content = bytes_of(path);
  }

  // At most the trials and winners of one transaction each may be there besides.
  void check(std::size_t further_trials, std::size_t further_winners) const {
    const auto database = TuningDatabase::open_read_only(path);
    REQUIRE(database);
    const std::size_t trials = database->trials(some_scope(), square(1024)).size();
    const std::size_t winners = database->winners({}).size();
    CHECK((trials == 3 || trials == 3 + further_trials));
    CHECK((winners == 1 || winners == 1 + further_winners));
    CHECK(database->stats().trials == static_cast<std::int64_t>(trials));
    CHECK(database->winners({})[0].median_us == 100);
    // A process whose memory ends in a destructor ends, and may leave a journal without content.
    fs::remove(path.string() + "-journal");
    write_bytes(path, content);
  }
};

// In a child whose memory fails.
void must(bool holds) {
  if (!holds) throw std::logic_error("a wrong result");
}

}  // namespace

TEST_SUITE("databases without memory") {
  TEST_CASE("what is stored is whole or absent") {
    const SmallFile file;
    const std::vector<Trial> trials = some_trials(3, 2);
    const std::vector winners = {some_winner(2048, 50)};
    fail_each_allocation(
        [&] {
          auto database = TuningDatabase::open(file.path);
          database.add_trials(some_scope(), some_run("run 2"), trials);
          database.put_winners(winners);
          database.put_rates("class", some_scope().environment, {60000, 4000});
          database.put_completed({{"key", "exhausted", 30, 12}});
        },
        [&] { file.check(2, 1); });
  }

  TEST_CASE("what is read is right") {
    const SmallFile file;
    fail_each_allocation(
        [&] {
          const auto database = TuningDatabase::open_read_only(file.path);
          must(database->all_trials({}).size() == 3);
          must(database->winners({.problem = square(1024)}).size() == 1);
          must(database->best_trials({}).size() == 1);
        },
        [&] { file.check(0, 0); });
  }

  TEST_CASE("a merge is done or not done") {
    const SmallFile file;
    {
      auto other = TuningDatabase::open(file.folder / "other.db");
      other.add_trials(some_scope(), some_run("run 2"), some_trials(3, 2));
      other.put_winners(std::vector{some_winner(1024, 200), some_winner(2048, 50)});
    }
    fail_each_allocation([&] { TuningDatabase::open(file.path).merge(file.folder / "other.db"); },
                         [&] { file.check(2, 1); });
  }

  TEST_CASE("a writer stores its trials, or says how many it has lost") {
    const SmallFile file;
    const std::vector<Trial> trials = some_trials(3, 2);
    fail_each_allocation(
        [&] {
          int settled = 0;
          auto database = TuningDatabase::open(file.path);
          TrialWriter writer(database, some_run("run 2"));
          for (const Trial& trial : trials) writer.add(some_scope(), trial, [&] { ++settled; });
          writer.flush();
          must(settled == 2);
          must(writer.problem().empty() == (database.stats().trials == 5));
        },
        [&] {
          CHECK(TuningDatabase::open(file.path).stats().trials >= 3);
          write_bytes(file.path, file.content);
        });
  }

  TEST_CASE("the cubin store has a kernel or has none") {
    const TemporaryFolder folder;
    const fs::path path = folder / "cubins.db";
    CubinStore::open(path).put("before", {"image", "log", {}});
    const auto image_of = [](CubinStore& store, const char* key) {
      const std::optional<StoredCubin> found = store.find(key);
      return found ? found->cubin : "none";
    };
    fail_each_allocation(
        [&] {
          CubinStore::open(path).put("new", {"new image", "log", {}});
          auto store = CubinStore::open(path);
          const std::string old_image = image_of(store, "before");
          const std::string new_image = image_of(store, "new");
          must(old_image == "none" || old_image == "image");
          must(new_image == "none" || new_image == "new image");
        },
        [&] {
          auto store = CubinStore::open(path);
          CHECK(image_of(store, "before") == "image");
        });
  }
}
