#include "cpu/device.hpp"

#include <doctest/doctest.h>

using autotune::DeviceInfo;

TEST_SUITE("cpu_device_info") {
  TEST_CASE("it cannot be taken for a GPU") {
    const DeviceInfo device = autotune::cpu_device_info();
    CHECK(device.label == "cpu: " + device.cpu_model);
    CHECK(device.architecture() == "cpu");
    CHECK(device.device_class() ==
          "cpu/" + device.cpu_model + "/" + std::to_string(device.sm_count) + " cores");
    CHECK(device.ordinal == autotune::kCpuOrdinal);
  }

  TEST_CASE("it offers templates what a large GPU does") {
    const DeviceInfo device = autotune::cpu_device_info();
    CHECK(device.sm.threads_per_block == 1024);
    CHECK(device.shared_per_block == 49152);
    CHECK(device.sm.shared_per_block == 227 * 1024);
    CHECK(device.sm_count >= 1);
    CHECK(device.memory_bytes > 0);
  }
}
