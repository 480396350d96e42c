#include "tests/second_operation/mix.hpp"

#include <doctest/doctest.h>

#include "cpu/device.hpp"
#include "tuner/measure/cpu_service.hpp"

namespace autotune::test {

TEST_SUITE("an operation with several outputs on the CPU device") {
  TEST_CASE("is tuned, stored and looked up, with worker processes that do not know it") {
    check_mix(cpu_device_info(), [] { return make_process_worker(AUTOTUNE_PROGRAM, kCpuOrdinal); });
  }

  TEST_CASE("has the faults in each output found") {
    check_mix_faults(cpu_device_info(), [] { return make_in_process_worker(make_cpu_service()); });
  }

  TEST_CASE("is verified in part where it is much work, with a part of the reference") {
    const auto status_with = [](const std::string& fault) {
      const auto service = make_cpu_service();
      const KernelSet kernels = mix_kernels(fault);
      const KernelTemplate& kernel = kernels.templates().front();
      const Configuration configuration({{"TILE", 8}});
      MeasureRequest request;
      request.problem = mix_problem(700, 330);
      request.data = problem_data(mix_operation(), request.problem, request.input);
      request.data.work.operations = 1e15;
      request.kernel_name = kernel.name;
      request.cubin =
          std::get<CompileReply>(service->handle(CompileRequest{
                                     kernel.name, std::string(kernel.source), {"-DTILE=8"}}))
              .cubin;
      request.signature = kernel.signature(request.problem);
      request.geometry = kernel.geometry(configuration, request.problem);
      request.timing.samples = 1;
      return std::get<MeasureReply>(service->handle(request));
    };
    const MeasureReply right = status_with("");
    CHECK(right.status == TrialStatus::ok);
    CHECK(right.detail == "4 of 3,696 blocks");
    const MeasureReply wrong =
        status_with("if (row == 699 && column == 329) turned[column * rows + row] += 1;");
    CHECK(wrong.status == TrialStatus::wrong_result);
    CHECK(wrong.detail ==
          "1 of 231000 elements of turned are wrong on integers, the first in row 329, column 699");
  }
}

}  // namespace autotune::test
