// The load of a GPU that is worth a warning before anything is timed on it.
#include <doctest/doctest.h>

#include "gpu/gpu.hpp"

using namespace autotune;

TEST_SUITE("GPU load") {
  TEST_CASE("a GPU at rest gets no warning") {
    CHECK(busy_warning({}).empty());
    CHECK(busy_warning({.utilization_percent = 3}).empty());
    constexpr std::uint64_t kIdle = 0x1;
    constexpr std::uint64_t kApplicationClocks = 0x2;
    CHECK(busy_warning({.throttle_reasons = kIdle | kApplicationClocks}).empty());
  }

  TEST_CASE("other programs are named before clocks") {
    CHECK(busy_warning({.utilization_percent = 40, .throttle_reasons = 0x20})
              .find("other programs keep the GPU busy (40 %)") == 0);
  }

  TEST_CASE("every reason that holds clocks back gets a warning") {
    for (const std::uint64_t reason : {0x4, 0x8, 0x20, 0x40, 0x80}) {
      CAPTURE(reason);
      CHECK(busy_warning({.throttle_reasons = reason}).find("clocks are held back") !=
            std::string::npos);
    }
  }
}
