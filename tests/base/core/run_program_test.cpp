#include "core/posix/run_program.hpp"

#include <atomic>
#include <csignal>
#include <thread>

#include <doctest/doctest.h>
#include <sys/wait.h>

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

  TEST_CASE("where the application ignores or takes the ends of its children, none is made up") {
    const auto run = [] { return run_program({"/bin/sh", "-c", "echo out; exit 3"}); };
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    const auto ignored = run();
    // The program's own children are waited for as usual.
    const auto nested = run_program({"/bin/sh", "-c", "/bin/sh -c 'exit 7'; echo $?"});
    std::signal(SIGCHLD, before);
    CHECK_FALSE(ignored.exit_code);
    CHECK(ignored.output == "out\n");
    CHECK(nested.output == "7\n");
    std::atomic<bool> stop = false;
    std::jthread reaper([&] {
      while (!stop) ::waitpid(-1, nullptr, WNOHANG);
    });
    for (int i = 0; i < 20; ++i) CHECK(run().exit_code.value_or(3) == 3);
    stop = true;
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
