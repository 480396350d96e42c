// Devices whose times are not their own: slices, shared ones, and those with a watchdog.
#include <doctest/doctest.h>

#include "gpu/device.hpp"
#include "gpu/gpu.hpp"
#include "tests/support/fake_cuda.hpp"

namespace autotune::test {
namespace {

DeviceInfo only_device() {
  return gpu::read_device(*gpu::Driver::open(), 0);
}

TEST_SUITE("read_device") {
  TEST_CASE("a MIG slice is known by its name and has a number of its own kind") {
    FakeCuda fake("name=NVIDIA H200 MIG 1g.18gb");
    const DeviceInfo slice = only_device();
    CHECK(slice.mig);
    CHECK(slice.label == "NVIDIA H200 MIG 1g.18gb");
    CHECK(slice.uuid == "MIG-00010203-0405-0607-0809-0a0b0c0d0e0f");
    fake.set_script("");
    const DeviceInfo whole = only_device();
    CHECK_FALSE(whole.mig);
    CHECK(whole.device_class() != slice.device_class());
  }

  TEST_CASE("sharing by MPS and the watchdog are read") {
    FakeCuda fake("attribute133=1");
    CHECK(only_device().mps);
    CHECK_FALSE(only_device().kernel_timeout);
    fake.set_script("attribute17=1");
    CHECK_FALSE(only_device().mps);
    CHECK(only_device().kernel_timeout);
  }
}

TEST_SUITE("inspect_driver") {
  TEST_CASE("reports what is there and never throws") {
    FakeCuda fake("devices=2;driver=12080");
    const DriverReport two = inspect_driver();
    CHECK(two.usable);
    CHECK(two.problem == "");
    CHECK(two.cuda_version == 12080);
    CHECK(two.library_path == AUTOTUNE_FAKE_CUDA);
    REQUIRE(two.devices.size() == 2);
    CHECK(two.devices[1].ordinal == 1);
    for (const char* script : {"devices=0", "stub", "driver=11080", "cuDeviceGetCount:3",
                               "cuDeviceGetName:999", "cuDeviceGetCount:0"}) {
      CAPTURE(script);
      fake.set_script(script);
      const DriverReport report = inspect_driver();
      CHECK_FALSE(report.usable);
      CHECK(report.problem != "");
    }
  }
}

}  // namespace
}  // namespace autotune::test
