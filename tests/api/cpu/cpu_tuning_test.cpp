// The embedded tuner on the CPU device, and where its results go.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "tests/api/cpu/small_problems.hpp"
#include "tests/api/temporary_storage.hpp"

namespace autotune::test {
namespace {

TEST_SUITE("tuning on the CPU device") {
  TEST_CASE("candidates run in processes of the program that is named, and in none of another") {
    const TemporaryStorage storage;
    const std::filesystem::path mark = storage.folder() / "started";
    const std::filesystem::path program = storage.folder() / "program";
    std::ofstream(program) << "#!/bin/sh\ntouch " << mark << "\nexec " << AUTOTUNE_PROGRAM
                           << " \"$@\"\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    Library library(kCpu);
    CHECK(library.tune({kOdd}, kFewTrials).measured == 6);
    CHECK_FALSE(std::filesystem::exists(mark));
    Library isolated({.device = Device::cpu(), .worker_program = program});
    CHECK(isolated.tune({kSmall}, kFewTrials).statuses.at("ok") == 6);
    CHECK(std::filesystem::exists(mark));
    CHECK_THROWS_WITH_AS(Library({.device = Device::cpu(), .worker_program = "/bin/true"})
                             .tune({kSmall}, {.fresh = true}),
                         doctest::Contains("exited with code 0"), EnvironmentError);
  }

  TEST_CASE("what is known is not measured again, by another object neither") {
    const TemporaryStorage storage;
    CHECK(Library(kCpu).tune({kOdd}, kFewTrials).measured == 6);
    const TuningResult again = Library(kCpu).tune({kOdd}, kFewTrials);
    CHECK(again.measured == 0);
    CHECK(again.known == 6);
    REQUIRE(again.problems.front().winner);
    TuningOptions fresh = kFewTrials;
    fresh.fresh = true;
    CHECK(Library(kCpu).tune({kOdd}, fresh).measured == 6);
  }

  TEST_CASE("results go to the folder in which the object was made, whatever folder is current") {
    const TemporaryStorage storage;
    const EnvironmentVariable relative("AUTOTUNE_DB", "autotune.db");
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(storage.folder());
    Library library(kCpu);
    const TemporaryFolder other;
    std::filesystem::current_path(other.path());
    CHECK(library.tune({kOdd}, {.budget_trials = 1}).storage_problem == "");
    std::filesystem::current_path(before);
    CHECK(std::filesystem::exists(storage.database()));
    CHECK_FALSE(std::filesystem::exists(other.path() / "autotune.db"));
    CHECK(library.query(kOdd).match == MatchKind::exact);
  }

  TEST_CASE("with a limit of the error a kernel of FP32 is searched, and found, in strict math") {
    const TemporaryStorage storage;
    Library library(kCpu);
    const GemmProblem tf32{.m = 24, .n = 24, .k = 24, .math = Math::tf32};
    GemmProblem strict = tf32;
    strict.math = Math::strict;
    CHECK(library.tune({tf32, tf32}, {.budget_trials = 1, .max_error = 1e-3}).measured == 1);
    CHECK(library.query(strict).match == MatchKind::exact);
    const BestConfiguration best = library.query(tf32);
    CHECK(best.match == MatchKind::exact);
    CHECK(best.tuned_for == strict);
  }

  TEST_CASE("progress is reported, and its function may end the search") {
    const TemporaryStorage storage;
    TuningProgress last;
    TuningOptions options = kFewTrials;
    options.progress = [&](const TuningProgress& progress) {
      last = progress;
      return progress.done < 2;
    };
    const TuningResult result = Library(kCpu).tune({kOdd}, options);
    CHECK(result.measured >= 2);
    CHECK(result.measured < 6);
    CHECK_FALSE(result.complete);
    CHECK(last.total == 6);
    CHECK(last.best_us.has_value());
  }

  TEST_CASE("results that cannot be stored serve as long as the Library lives") {
    const TemporaryStorage storage;
    const EnvironmentVariable nowhere("AUTOTUNE_DB", "/dev/null/autotune.db");
    Library library(kCpu);
    const TuningResult result = library.tune({kOdd}, kFewTrials);
    CHECK(result.storage_problem != "");
    CHECK(library.query(kOdd).match == MatchKind::exact);
    CHECK(Library(kCpu).query(kOdd).match == MatchKind::predicted);
  }

  TEST_CASE("a folder of AUTOTUNE_DB that does not exist is told, and not made") {
    const TemporaryStorage storage;
    const std::string mistyped = storage.folder() / "mistyped";
    const EnvironmentVariable nowhere("AUTOTUNE_DB", mistyped + "/a.db");
    Library library(kCpu);
    CHECK(library.tune({kOdd}, kFewTrials).storage_problem ==
          mistyped +
              "/a.db: its folder does not exist: make it, or name another file in AUTOTUNE_DB");
    CHECK_FALSE(std::filesystem::exists(mistyped));
  }
}

}  // namespace
}  // namespace autotune::test
