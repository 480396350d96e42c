#include "tests/second_operation/transpose.hpp"

#include <doctest/doctest.h>

#include "cpu/device.hpp"
#include "tests/second_operation/journey.hpp"
#include "tuner/measure/cpu_service.hpp"

namespace autotune::test {
namespace {

std::unique_ptr<Worker> make_cpu_worker() {
  return make_in_process_worker(make_cpu_service(transpose_operations()));
}

}  // namespace

TEST_SUITE("a second operation on the CPU device") {
  TEST_CASE("goes all the way from its space to an export") {
    check_journey(cpu_device_info(), make_cpu_worker);
  }

  TEST_CASE("has its faults found") {
    check_faults(cpu_device_info(), make_cpu_worker);
  }
}

}  // namespace autotune::test
