// Files that another process has locked: products go on without them.
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sqlite3.h>

#include "api/device_choice.hpp"
#include "tests/api/fake_machine.hpp"
#include "tests/support/winner.hpp"

namespace autotune::test {
namespace {

// A connection that reads and writes a file and lets nobody else, as long as it lives.
class Lock {
 public:
  explicit Lock(const std::string& path) {
    REQUIRE(sqlite3_open(path.c_str(), &connection_) == SQLITE_OK);
    REQUIRE(sqlite3_exec(connection_, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  ~Lock() { sqlite3_close(connection_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  sqlite3* connection_ = nullptr;
};

// A tenth of it where the machine has time.
constexpr std::chrono::seconds kLongest(1);

template <typename Work>
void check_is_quick(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  CHECK(std::chrono::steady_clock::now() - begin < kLongest);
}

TEST_SUITE("locked files") {
  TEST_CASE("a database costs a moment, a warning, and what is not known of it yet") {
    const Machine machine;
    const KernelTemplate& kernel = *built_in_kernels().find("gemm_simt");
    const Winner winner = winner_of(kernel, kProblem, choose_device("0").device);
    const std::string path = machine.storage.database();
    TuningDatabase::open(path).put_winners({&winner, 1});
    const GemmProblem other{.m = 68, .n = 48, .k = 32};
    for (const bool is_named : {false, true}) {
      CAPTURE(is_named);
      std::vector<std::string> warnings;
      LibraryOptions options;
      if (is_named) options.database = path;
      options.log = [&](LogLevel level, const std::string& line) {
        if (level == LogLevel::warning) warnings.push_back(line);
      };
      Library knows(options);
      CHECK(knows.query(kProblem).match == MatchKind::exact);
      CHECK(warnings.empty());
      {
        const Lock lock(path);
        check_is_quick([&] {
          CHECK(knows.gemm(kProblem, 1, {kMemory}, {kMemory}, 0, {kResult}) == MatchKind::exact);
        });
        check_is_quick([&] { CHECK(knows.query(kProblem).match == MatchKind::exact); });
        check_is_quick([&] { CHECK(knows.query(other).match == MatchKind::predicted); });
        REQUIRE(warnings.size() == 1);
        CHECK(has(warnings.front(), "is locked by another process"));
        check_is_quick([&] {
          const Library late(options);
          CHECK(late.query(kProblem).match == MatchKind::predicted);
        });
        CHECK(warnings.size() == 2);
      }
      CHECK(knows.query(other).match == MatchKind::nearest_size);
      CHECK(warnings.size() == 2);
    }
  }

  TEST_CASE("a store of compiled kernels costs a moment, and what is in it") {
    const Machine machine;
    Library library;
    {
      const Lock lock(machine.storage.folder() / "cache/autotune/cubins.db");
      check_is_quick([&] { CHECK_THROWS_AS(library.prepare(kProblem), EnvironmentError); });
    }
    CHECK_NOTHROW(library.prepare(kProblem));
  }
}

}  // namespace
}  // namespace autotune::test
