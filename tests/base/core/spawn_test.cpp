#include "core/posix/spawn.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/posix/file_descriptor.hpp"

namespace autotune {
namespace {

struct Outcome {
  int status = 0;
  std::string text;  // what it wrote to the descriptor `output`
};

// Runs a line of the shell whose descriptor `output` is kept and whose others are /dev/null.
Outcome shell(const std::string& line, std::size_t output, SpawnOptions options = {}) {
  const FileDescriptor file(::memfd_create("output", 0));  // 0: it would be inherited
  options.descriptors.assign(std::max<std::size_t>(output + 1, 3), SpawnOptions::kNull);
  options.descriptors[output] = file.get();
  pid_t process = 0;
  REQUIRE(spawn({"/bin/sh", "-c", line}, options, process) == 0);
  Outcome outcome;
  REQUIRE(::waitpid(process, &outcome.status, 0) == process);
  std::array<char, 256> text{};
  const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  outcome.text.assign(text.data(), static_cast<std::size_t>(size));
  return outcome;
}

TEST_SUITE("spawn") {
  TEST_CASE("a program has the descriptors that it is given and no others") {
    const FileDescriptor open_in_parent(::open("/dev/null", O_RDONLY));
    CHECK(shell("for n in 3 4 5 6 7 8 9; do [ ! -e /proc/$$/fd/$n ] || echo $n; done", 1).text ==
          "");
    CHECK(shell("echo said >&3; [ ! -e /proc/$$/fd/4 ] && echo alone >&3", 3).text ==
          "said\nalone\n");
    CHECK(shell("read line; echo $? >&2", 2).text == "1\n");  // no input
  }

  TEST_CASE("a descriptor may be given whose number becomes another's") {
    const FileDescriptor file(::memfd_create("output", MFD_CLOEXEC));
    const int number = file.get();
    std::vector<int> descriptors(static_cast<std::size_t>(number) + 1, SpawnOptions::kNull);
    descriptors[1] = number;  // and `number` itself becomes /dev/null
    pid_t process = 0;
    REQUIRE(spawn({"/bin/sh", "-c", "echo kept"}, {.descriptors = descriptors}, process) == 0);
    ::waitpid(process, nullptr, 0);
    std::array<char, 8> text{};
    CHECK(::pread(number, text.data(), text.size(), 0) == 5);
  }

  TEST_CASE("variables replace those of the same name") {
    ::setenv("AUTOTUNE_SPAWN_TEST", "old", 1);
    ::setenv("AUTOTUNE_SPAWN_TEST_2", "kept", 1);
    const std::string line = "echo $AUTOTUNE_SPAWN_TEST $AUTOTUNE_SPAWN_TEST_2";
    CHECK(shell(line, 1, {.environment = {"AUTOTUNE_SPAWN_TEST=new"}}).text == "new kept\n");
    CHECK(shell(line, 1).text == "old kept\n");
    ::unsetenv("AUTOTUNE_SPAWN_TEST");
    ::unsetenv("AUTOTUNE_SPAWN_TEST_2");
  }

  TEST_CASE("signals are this process's, or of a group that requests to stop do not reach") {
    const auto before = ::signal(SIGUSR2, SIG_IGN);
    const Outcome own = shell("kill -USR2 $$; echo alive", 1, {.own_group = true});
    CHECK(WIFSIGNALED(own.status));
    CHECK(WTERMSIG(own.status) == SIGUSR2);
    CHECK(shell("kill -USR2 $$; echo alive", 1).text == "alive\n");
    ::signal(SIGUSR2, before);
    for (const std::string signal : {"INT", "TERM", "HUP"}) {
      const std::string line = "kill -" + signal + " $$; echo alive";
      CHECK(shell(line, 1, {.own_group = true}).text == "alive\n");
    }
    const std::string group = "[ $(ps -o pgid= -p $$) = $$ ] && echo leads";
    CHECK(shell(group, 1, {.own_group = true}).text == "leads\n");
    CHECK(shell(group, 1).text == "");
  }

  TEST_CASE("a signal that is blocked here is not blocked in another program") {
    sigset_t term, before;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &term, &before);
    CHECK(shell("kill -TERM $$; echo alive", 1).text == "");
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  TEST_CASE("what cannot be started is told by errno") {
    pid_t process = 0;
    CHECK(spawn({"/nonexistent/program"}, {.descriptors = {0, 1, 2}}, process) == ENOENT);
    CHECK(spawn({"/bin/true"}, {.descriptors = {0, 1, 12345}}, process) == EBADF);
  }
}

}  // namespace
}  // namespace autotune
