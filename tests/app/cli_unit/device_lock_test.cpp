#include "cli/device_lock.hpp"

#include <cstdlib>

#include <doctest/doctest.h>
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
    const auto free_first = [&] {
      ++waits;
      first.reset();
    };
    const DeviceLock second("GPU-1", free_first, {});
    CHECK(second.held());
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

  TEST_CASE("where no file can be made there is no lock, and no waiting") {
    ::setenv("TMPDIR", "/nonexistent", 1);
    const DeviceLock lock("GPU-1", [] { FAIL("waits"); }, {});
    ::unsetenv("TMPDIR");
    CHECK_FALSE(lock.held());
  }

  TEST_CASE("the CPU device has none") {
    DeviceInfo host;
    host.cpu_model = "Test CPU";
    CHECK_FALSE(lock_device(host));
  }
}

}  // namespace
}  // namespace autotune::test
