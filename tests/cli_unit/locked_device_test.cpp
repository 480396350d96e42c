#include "cli/locked_device.hpp"

#include <cstdlib>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "tests/support/run_program.hpp"

namespace autotune::test {
namespace {

TEST_SUITE("locked device") {
  TEST_CASE("waiting ends at the deadline, and the command with it") {
    const TemporaryFolder folder;
    ::setenv("TMPDIR", folder.path().c_str(), 1);
    DeviceInfo device;
    device.uuid = "GPU-1";
    const DeviceLock first("GPU-1", [] {}, {});
    CHECK_THROWS_AS(static_cast<void>(lock_device(device, {}, std::chrono::steady_clock::now())),
                    EnvironmentError);
    ::unsetenv("TMPDIR");
  }

  TEST_CASE("the CPU device has none") {
    DeviceInfo host;
    host.cpu_model = "Test CPU";
    CHECK_FALSE(lock_device(host));
  }
}

}  // namespace
}  // namespace autotune::test
