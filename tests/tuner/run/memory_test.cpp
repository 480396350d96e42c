// A tuning run in a process that runs out of memory.
#include "tests/support/failing_memory.hpp"
#include "tests/tuner/small_search.hpp"

namespace autotune::test {

TEST_SUITE("tuning without memory") {
  TEST_CASE("the run ends or goes on, and the next one has what is lacking") {
    SmallSearch search;
    fail_each_allocation(
        [&] {
          auto database = TuningDatabase::open(search.path);
          CubinStore cubins = CubinStore::open(search.folder.path() / "cubins.db");
          static_cast<void>(search.run(database));
        },
        [&] {
          {
            auto database = TuningDatabase::open(search.path);
            check_report(search.run(database));
            CHECK(database.stats().trials == kConfigurations);
            CHECK(search.run(database).measured == 0);
          }
          std::filesystem::remove(search.path);
        });
  }
}

}  // namespace autotune::test
