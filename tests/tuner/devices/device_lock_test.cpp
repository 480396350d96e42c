#include "tuner/devices/device_lock.hpp"

#include <cstdlib>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/run_program.hpp"

namespace autotune::test {
namespace {

// A folder for temporary files of the test's own.
struct OwnFolder {
  TemporaryFolder folder;
  OwnFolder() { ::setenv("TMPDIR", folder.path().c_str(), 1); }
  ~OwnFolder() { ::unsetenv("TMPDIR"); }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
};

TEST_SUITE("device lock") {
  TEST_CASE("a free device is not waited for, a taken one until it is free") {
    const OwnFolder folder;
    int waits = 0;
    std::optional<DeviceLock> first;
    first.emplace(
        "GPU-1", [&] { ++waits; }, std::stop_token{});
    CHECK(first->held());
    const DeviceLock other("GPU-2", [&] { ++waits; }, {});
    CHECK(other.held());
    CHECK(waits == 0);
    CHECK(other.waited() == std::chrono::seconds(0));
    const auto free_first = [&] {
      ++waits;
      first.reset();
    };
    const DeviceLock second("GPU-1", free_first, {});
    CHECK(second.held());
    CHECK(second.waited() > std::chrono::seconds(0));
    CHECK(waits == 1);
  }

  TEST_CASE("a request to stop ends the waiting") {
    const OwnFolder folder;
    const DeviceLock first("GPU-1", [] {}, {});
    std::stop_source stop;
    const DeviceLock second(
        "GPU-1", [&] { stop.request_stop(); }, stop.get_token());
    CHECK_FALSE(second.held());
  }

  TEST_CASE("a process that is killed leaves no lock behind") {
    const OwnFolder folder;
    const pid_t child = ::fork();
    if (child == 0) {
      const DeviceLock lock("GPU-1", [] {}, {});
      ::kill(::getpid(), SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
    int waits = 0;
    CHECK(DeviceLock("GPU-1", [&] { ++waits; }, {}).held());
    CHECK(waits == 0);
  }

  TEST_CASE("where no file can be made there is no lock, no waiting, and a reason") {
    ::setenv("TMPDIR", "/nonexistent", 1);
    const DeviceLock lock("GPU-1", [] { FAIL("waits"); }, {});
    ::unsetenv("TMPDIR");
    CHECK_FALSE(lock.held());
    CHECK(lock.problem() != "");
  }

  TEST_CASE("another user takes the same lock, whatever the umask of the first") {
    if (::geteuid() != 0) {
      MESSAGE("SKIPPED: only root can be two users");
      return;
    }
    const OwnFolder own;
    std::filesystem::permissions(own.folder.path(), std::filesystem::perms(01777));
    const mode_t before = ::umask(077);
    const DeviceLock first("GPU-1", [] {}, {});
    ::umask(before);
    REQUIRE(first.held());
    const pid_t child = ::fork();
    if (child == 0) {
      bool waited = false;
      if (::setuid(65534) != 0) ::_exit(2);
      const DeviceLock second(
          "GPU-1", [&] { waited = true; }, {}, std::chrono::steady_clock::now());
      ::_exit(waited && !second.held() && second.problem().empty() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }

  TEST_CASE("a pipe, a folder or a link in the lock's place ends in a reason and not in waiting") {
    const OwnFolder own;
    const std::string path = own.folder.path() / "autotune-GPU-1.lock";
    const auto problem = [] {
      const DeviceLock lock("GPU-1", [] { FAIL("waits"); }, {});
      CHECK_FALSE(lock.held());
      return lock.problem();
    };
    REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
    CHECK(problem().find(path) == 0);
    std::filesystem::remove(path);
    std::filesystem::create_symlink(own.folder.path() / "elsewhere", path);
    CHECK(problem() != "");
    CHECK_FALSE(std::filesystem::exists(own.folder.path() / "elsewhere"));
  }
}

}  // namespace
}  // namespace autotune::test
