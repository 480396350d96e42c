#include <doctest/doctest.h>

#include "cpu/device.hpp"
#include "tests/second_operation/journey.hpp"
#include "tuner/measure/cpu_service.hpp"

namespace autotune::test {

TEST_SUITE("a second operation on the CPU device") {
  TEST_CASE("goes all the way from its space to an export") {
    check_journey(cpu_device_info(), [] { return make_in_process_worker(make_cpu_service()); });
  }

  TEST_CASE("goes all the way with the program's own worker processes, which do not know it") {
    check_journey(cpu_device_info(),
                  [] { return make_process_worker(AUTOTUNE_PROGRAM, kCpuOrdinal); });
  }

  TEST_CASE("has its faults found") {
    check_faults(cpu_device_info(), [] { return make_in_process_worker(make_cpu_service()); });
  }
}

}  // namespace autotune::test
