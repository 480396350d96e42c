#include "tests/second_operation/described.hpp"

#include <doctest/doctest.h>

#include "cpu/device.hpp"
#include "tuner/measure/cpu_service.hpp"

namespace autotune::test {
namespace {

std::unique_ptr<Worker> make_worker() {
  return make_in_process_worker(make_cpu_service());
}

}  // namespace

TEST_SUITE("an operation that is judged by a kernel, on the CPU device") {
  TEST_CASE("has its right kernels verified and timed") {
    check_described(make_worker, {});
    check_described([] { return make_process_worker(AUTOTUNE_PROGRAM, kCpuOrdinal); }, {});
  }

  TEST_CASE("has each fault found and named") {
    check_described_faults(make_worker, {});
  }

  TEST_CASE("has its results judged by tolerances") {
    check_described_tolerances(make_worker, {});
  }

  TEST_CASE("takes data and expected values from files") {
    check_files(make_worker, {});
  }

  TEST_CASE("is not judged by a reference that has faults") {
    check_faulty_references(make_worker, {});
  }
}

}  // namespace autotune::test
