// The C API takes structures of versions before and after this one.
#include <cstddef>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "tests/api/c_caller.hpp"
#include "tests/api/temporary_storage.hpp"

namespace autotune::test {
namespace {

TEST_SUITE("structures of the C API") {
  TEST_CASE("a newer structure is taken if what is new in it is 0") {
    const TemporaryStorage storage;
    struct {
      autotune_options known = cpu_options();
      std::int64_t unknown = 0;
    } newer;
    newer.known.size = sizeof newer;
    autotune_library* library = nullptr;
    REQUIRE(autotune_open(&newer.known, &library) == AUTOTUNE_OK);
    autotune_close(library);
    newer.unknown = 1;
    CHECK(autotune_open(&newer.known, &library) == AUTOTUNE_USAGE);
    CHECK(std::string(autotune_last_error()) == "options asks for what only a newer library has");
  }

  TEST_CASE("an older structure is taken, and what follows it in memory is not looked at") {
    const TemporaryStorage storage;
    autotune_options older = cpu_options();
    older.size = offsetof(autotune_options, bundle);
    older.bundle = "what the caller has there";
    autotune_library* library = nullptr;
    CHECK(autotune_open(&older, &library) == AUTOTUNE_OK);
    autotune_close(library);
  }

  TEST_CASE("structures of all sizes between the first and the newest are taken") {
    const TemporaryStorage storage;
    Caller caller;
    for (std::size_t size = offsetof(autotune_options, bundle); size <= sizeof(autotune_options);
         size += sizeof(void*)) {
      caller.options.size = size;
      CHECK(caller.open() == AUTOTUNE_OK);
    }
    caller.options.size = sizeof caller.options;
    REQUIRE(autotune_open(&caller.options, &caller.library) == AUTOTUNE_OK);
    caller.tuning.size = offsetof(autotune_tune_options, max_error);
    caller.tuning.budget_trials = 1;
    caller.tuning.max_error = 7;  // the caller's
    CHECK(caller.tune() == AUTOTUNE_OK);
    CHECK(caller.result.tuned == 1);
    CHECK(caller.result.size == sizeof caller.result);
    autotune_close(caller.library);
  }
}

}  // namespace
}  // namespace autotune::test
