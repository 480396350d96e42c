#include "core/posix/run_program.hpp"

#include <doctest/doctest.h>

#include "autotune/error.hpp"

using autotune::run_program;

TEST_SUITE("run_program") {
  TEST_CASE("it gives exit code and both outputs") {
    const auto result = run_program({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"});
    CHECK(result.exit_code == 3);
    CHECK(result.output == "out\nerr\n");
  }

  TEST_CASE("messages are English and input is empty") {
    CHECK(run_program({"/bin/sh", "-c", "read line || echo $LC_ALL"}).output == "C\n");
  }

  TEST_CASE("a signal gives 128 and its number") {
    CHECK(run_program({"/bin/sh", "-c", "kill -9 $$"}).exit_code == 137);
  }

  TEST_CASE("long output is cut without blocking the program") {
    const auto result = run_program({"/bin/sh", "-c", "/usr/bin/head -c 1000000 /dev/zero"});
    CHECK(result.exit_code == 0);
    CHECK(result.output.size() == autotune::kMaxProgramOutput);
  }

  TEST_CASE("a program that is not there is a fault of the environment") {
    CHECK_THROWS_WITH_AS(static_cast<void>(run_program({"/nonexistent/c++"})),
                         doctest::Contains("/nonexistent/c++ cannot be started"),
                         autotune::EnvironmentError);
  }
}
