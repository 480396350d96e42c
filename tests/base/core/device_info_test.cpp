#include "core/device_info.hpp"

#include <doctest/doctest.h>

using autotune::DeviceInfo;

namespace {

DeviceInfo h200() {
  DeviceInfo device;
  device.label = "NVIDIA H200";
  device.compute_major = 9;
  device.compute_minor = 0;
  device.sm_count = 132;
  device.sm.shared_per_block = 232448;
  device.l2_bytes = 62914560;
  device.memory_bytes = 150109880320;
  device.memory_clock_khz = 3201000;
  device.memory_bus_bits = 6144;
  return device;
}

}  // namespace

TEST_SUITE("DeviceInfo") {
  TEST_CASE("architecture joins major and minor") {
    DeviceInfo device;
    device.compute_major = 12;
    device.compute_minor = 1;
    CHECK(device.architecture() == "sm_121");
  }

  TEST_CASE("a device class keeps its text") {
    // Results are stored under this text: a change of it loses all of them.
    CHECK(h200().device_class() ==
          "sm_90/132sm/l2-62914560/bus-6144/mem-3201000kHz/140GiB/shared-232448");
  }

  TEST_CASE("a device class tells the SMs and the memory") {
    const autotune::DeviceClass parsed = autotune::parse_device_class(h200().device_class());
    CHECK(parsed.architecture == "sm_90");
    CHECK(parsed.sm_count == 132);
    CHECK(parsed.memory_gib == 140);
    CHECK(autotune::parse_device_class("cpu/Some CPU/4 cores").memory_gib == 0);
  }

  TEST_CASE("a device class depends on the properties that decide speed and on nothing else") {
    const std::string same = h200().device_class();
    DeviceInfo other = h200();
    other.label = "NVIDIA H200 NVL";
    other.uuid = "GPU-1";
    other.ordinal = 3;
    other.driver_release = "580.1";
    other.memory_bytes += 1 << 20;  // drivers differ in the memory that they reserve
    CHECK(other.device_class() == same);

    other = h200();
    other.sm_count = 114;
    CHECK(other.device_class() != same);
    other = h200();
    other.mig = true;
    CHECK(other.device_class() == same + "/mig");
    other.mps = true;
    CHECK(other.device_class() == same + "/mig/mps");
  }

  TEST_CASE("devices are alike with the same architecture and about as many SMs") {
    const autotune::DeviceClass own{"sm_90", 132};
    CHECK(autotune::are_alike(own, {"sm_90", 114}));
    CHECK(autotune::are_alike({"sm_90", 88}, own));
    CHECK_FALSE(autotune::are_alike(own, {"sm_90", 87}));
    CHECK_FALSE(autotune::are_alike(own, {"sm_100", 132}));
    CHECK_FALSE(autotune::are_alike({"cpu", 0}, {"cpu", 0}));
  }
}
