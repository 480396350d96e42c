#include <doctest/doctest.h>

#include "tests/device/gpu_fixture.hpp"
#include "tests/second_operation/journey.hpp"
#include "tests/second_operation/transpose.hpp"
#include "tuner/measure/gpu_service.hpp"

namespace autotune::test {
namespace {

std::unique_ptr<Worker> make_gpu_worker() {
  return make_in_process_worker(make_gpu_service(0, transpose_operations()));
}

}  // namespace

TEST_SUITE("a second operation on a GPU") {
  TEST_CASE("goes all the way from its space to an export") {
    const auto gpu = open_gpu();
    if (!gpu) return;
    check_journey(gpu->device, make_gpu_worker);
  }

  TEST_CASE("has its faults found") {
    const auto gpu = open_gpu();
    if (!gpu) return;
    check_faults(gpu->device, make_gpu_worker);
  }
}

}  // namespace autotune::test
