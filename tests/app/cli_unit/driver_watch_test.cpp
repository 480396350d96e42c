// DriverWatch: calls into the driver that take long or hang.
#include "cli/driver_watch.hpp"

#include <array>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/exit_codes.hpp"

namespace autotune::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// What a process writes on standard error while it watches `call`, and its exit code. The call gets
// the end of the pipe that the words come from.
template <typename Call>
std::pair<std::string, int> end_of(DriverWatch::Patience patience, Call call) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
    {
      const DriverWatch watch(patience);
      call(ends[0]);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  std::string words;
  char c = 0;
  while (::read(ends[0], &c, 1) == 1) words += c;
  ::close(ends[0]);
  return {words, WEXITSTATUS(status)};
}

TEST_SUITE("DriverWatch") {
  TEST_CASE("nothing is said of a call that returns") {
    const auto [words, code] = end_of({hours(1), hours(2)}, [](int) {});
    CHECK(words == "");
    CHECK(code == exit_code::kDone);
  }

  TEST_CASE("a call that takes long is said, and may return") {
    const auto [words, code] = end_of({milliseconds(0), hours(1)}, [](int words_of_watch) {
      char c = 0;
      while (c != '\n' && ::read(words_of_watch, &c, 1) == 1) {
      }
    });
    CHECK(code == exit_code::kDone);
  }

  TEST_CASE("a call that never returns ends the program") {
    const auto [words, code] = end_of({milliseconds(0), milliseconds(1)}, [](int) { ::pause(); });
    CHECK(code == exit_code::kEnvironment);
    CHECK(words.find("autotune: waiting for the NVIDIA driver\n"
                     "autotune: the NVIDIA driver has not answered for 0 s: ") == 0);
  }
}

}  // namespace
}  // namespace autotune::test
