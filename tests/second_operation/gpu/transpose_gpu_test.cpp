#include <doctest/doctest.h>

#include "tests/device/gpu_fixture.hpp"
#include "tests/second_operation/journey.hpp"
#include "tests/second_operation/mix.hpp"
#include "tuner/measure/gpu_service.hpp"

namespace autotune::test {
namespace {

std::unique_ptr<Worker> make_gpu_worker() {
  return make_in_process_worker(make_gpu_service(0));
}

std::unique_ptr<Worker> make_program_worker() {
  return make_process_worker(AUTOTUNE_PROGRAM, 0);
}

}  // namespace

TEST_SUITE("a second operation on a GPU") {
  TEST_CASE("goes all the way from its space to an export") {
    const auto gpu = open_gpu();
    if (!gpu) return;
    check_journey(gpu->device, make_gpu_worker);
  }

  TEST_CASE("goes all the way with the program's own worker processes, which do not know it") {
    const auto gpu = open_gpu();
    if (!gpu) return;
    check_journey(gpu->device, make_program_worker);
  }

  TEST_CASE("has its faults found") {
    const auto gpu = open_gpu();
    if (!gpu) return;
    check_faults(gpu->device, make_gpu_worker);
  }

  TEST_CASE("may have several outputs, of integers too, among its inputs") {
    const auto gpu = open_gpu();
    if (!gpu) return;
    check_mix(gpu->device, make_program_worker);
    check_mix_faults(gpu->device, make_gpu_worker);
  }
}

}  // namespace autotune::test
