#include <doctest/doctest.h>

#include "tests/device/gpu_fixture.hpp"
#include "tests/second_operation/described.hpp"
#include "tuner/measure/gpu_service.hpp"

namespace autotune::test {
namespace {

std::unique_ptr<Worker> make_worker() {
  return make_in_process_worker(make_gpu_service(0));
}

void on_gpu(void (*check)(const WorkerFactory&, const std::vector<std::string>&)) {
  if (const auto gpu = open_gpu()) check(make_worker, {"-arch=" + gpu->target});
}

}  // namespace

TEST_SUITE("an operation that is judged by a kernel, on a GPU") {
  TEST_CASE("has its right kernels verified and timed") {
    on_gpu(check_described);
  }

  TEST_CASE("has each fault found and named") {
    on_gpu(check_described_faults);
  }

  TEST_CASE("has its results judged by tolerances") {
    on_gpu(check_described_tolerances);
  }

  TEST_CASE("takes data and expected values from files") {
    on_gpu(check_files);
  }

  TEST_CASE("is not judged by a reference that has faults") {
    on_gpu(check_faulty_references);
  }

  TEST_CASE("has a result found that a kernel keeps from an earlier launch") {
    const auto gpu = open_gpu();
    if (!gpu) return;
    DescribedBench bench(make_worker, {"-arch=" + gpu->target});
    const MeasureReply reply =
        bench.measure("if (!is_kept[i]) kept[i] = value; is_kept[i] = true;",
                      "c[i] = kept[i]; total[i] += kept[i] - value;",
                      "__device__ float kept[256]; __device__ bool is_kept[256];");
    CAPTURE(reply.detail);
    CHECK(reply.status == TrialStatus::wrong_result);
    CHECK(reply.detail.ends_with("; it is the result of the data before"));
  }
}

}  // namespace autotune::test
