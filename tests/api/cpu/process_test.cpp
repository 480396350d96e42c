// The library in a process that forks, and that has ways of its own with its children.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/autotune.hpp"

#include "tests/api/temporary_storage.hpp"

namespace autotune::test {
namespace {

const LibraryOptions kOnCpu{.device = Device::cpu()};

void multiply(Library& library, std::int64_t m) {
  const std::vector<float> a(static_cast<std::size_t>(3 * m), 1);
  const std::vector<float> b(6, 2);
  std::vector<float> c(static_cast<std::size_t>(2 * m));
  library.gemm({.m = m, .n = 2, .k = 3}, 1, {a.data()}, {b.data()}, 0, {c.data()});
  if (c.back() != 6) throw std::runtime_error("wrong product");
}

TEST_SUITE("embedding in a process with children") {
  TEST_CASE("children that are forked while other threads make cold calls use a library too") {
    const TemporaryStorage storage;
    Library library(kOnCpu);
    library.tune({{.m = 2, .n = 2, .k = 3}}, {.budget_trials = 1});
    std::atomic<bool> stop = false;
    std::vector<std::jthread> threads;
    for (const std::int64_t first : {1, 2}) {
      threads.emplace_back([&, first] {
        for (std::int64_t m = first; !stop; m = m % 2000 + 2) {
          Library own(kOnCpu);  // opens what a child opens
          multiply(own, m);
          multiply(library, m);
        }
      });
    }
    int stuck = 0;
    for (int i = 0; i < 40; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::alarm(60);
        Library own(kOnCpu);
        multiply(own, 2);
        ::_exit(0);
      }
      int status = -1;
      REQUIRE(::waitpid(child, &status, 0) == child);
      if (status != 0) ++stuck;
    }
    stop = true;
    CHECK(stuck == 0);
  }

  TEST_CASE("where SIGCHLD is ignored a candidate that does not compile is a failed trial") {
    const TemporaryStorage storage;
    const std::string compiler = storage.folder() / "picky";
    std::ofstream(compiler)
        << "#!/bin/sh\nfor word; do case \"$word\" in *kernel.cu)\n"
           "  if sed '/^#line/q' \"$word\" | grep -q 'TILE_WIDTH 16'; then\n"
           "    echo 'kernel.cu:1: error: planted' >&2; exit 1; fi;; esac; done\n"
           "exec c++ \"$@\"\n";
    std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
    const EnvironmentVariable chosen("CXX", compiler);
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    Library library(kOnCpu);
    const TuningResult result = library.tune({{.m = 31, .n = 33, .k = 36}}, {.budget_trials = 12});
    std::signal(SIGCHLD, before);
    CHECK(result.statuses.at("ok") > 0);
    CHECK(result.statuses.at("compile_failed") > 0);
    CHECK(result.measured == 12);
  }
}

}  // namespace
}  // namespace autotune::test
