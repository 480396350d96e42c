// CallWatch and answer_within(): calls into the driver that take long or hang.
#include "cli/call_watch.hpp"

#include <array>
#include <future>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/exit_codes.hpp"

namespace autotune::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Returns what a process writes on standard error while it watches `call`, and its exit code. The
// call gets the end of the pipe that the words come from.
template <typename Call>
std::pair<std::string, int> end_of(CallWatch::Patience patience, Call call) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
    {
      const CallWatch watch(kDriver, patience, [](milliseconds) {
        static_cast<void>(::write(STDERR_FILENO, "known so far\n", 13) > 0);
      });
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

TEST_SUITE("CallWatch") {
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
                     "known so far\n"
                     "autotune: the NVIDIA driver has not answered for 0 s: ") == 0);
  }

  TEST_CASE("a call that has a limit of its own is only said") {
    const auto [words, code] = end_of({milliseconds(0), std::nullopt}, [](int words_of_watch) {
      char c = 0;
      while (c != '\n' && ::read(words_of_watch, &c, 1) == 1) {
      }
    });
    CHECK(code == exit_code::kDone);
  }

  TEST_CASE("time in which the process is stopped counts as a slice at most") {
    const std::stop_source returned;
    milliseconds asked(0);
    milliseconds passed(0);  // by the clock on the wall
    int slices = 0;
    CHECK(outlasts(returned.get_token(), milliseconds(2050), [&](milliseconds slice) {
      CHECK(slice <= milliseconds(100));
      asked += slice;
      passed += ++slices == 3 ? milliseconds(hours(1)) : slice;  // it is stopped in the third
    }));
    CHECK(slices == 21);
    CHECK(asked == milliseconds(2050));
    CHECK(passed > hours(1));
  }

  TEST_CASE("a call that returns is noticed after the slice that it returns in") {
    std::stop_source returned;
    int slices = 0;
    CHECK_FALSE(outlasts(returned.get_token(), hours(1), [&](milliseconds) {
      if (++slices == 3) returned.request_stop();
    }));
    CHECK(slices == 3);
    CHECK_FALSE(outlasts(returned.get_token(), hours(1), [&](milliseconds) { ++slices; }));
    CHECK(slices == 3);
  }
}

TEST_SUITE("answer_within") {
  TEST_CASE("a call that returns is waited for, and its exception passed on") {
    CHECK(answer_within(hours(1), [] { return 2; }) == 2);
    CHECK_THROWS_WITH(
        answer_within(hours(1), []() -> int { throw std::runtime_error("as planted"); }),
        "as planted");
    CHECK_FALSE(has_left_call_behind());
  }

  TEST_CASE("a call that takes longer is left behind, and the program's end does not wait for it") {
    std::promise<void> end;
    const std::shared_future<void> hangs = end.get_future().share();
    const auto answer = answer_within(milliseconds(0), [hangs] {
      hangs.wait();
      return 2;
    });
    CHECK_FALSE(answer);
    CHECK(has_left_call_behind());
    end.set_value();
  }
}

}  // namespace
}  // namespace autotune::test
