// Which times a kernel can have taken.
#include "kernel_templates/possible_time.hpp"

#include <limits>

#include <doctest/doctest.h>

#include "autotune/problem.hpp"

#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

const GemmProblem kProblem{.m = 1000, .n = 1000, .k = 1000};  // 2 GFLOP
constexpr DeviceRates kRates{.fma_gflops = 60'000, .copy_gbps = 4'000};

TEST_SUITE("possible times") {
  TEST_CASE("a time is too short by the device's rate, or for any launch") {
    const PossibleTime is_possible = possible_time(built_in_kernels());
    for (const double us : {5e-324, 1e-300, 9e-4, 0.0, -1.0}) {
      CHECK_FALSE(is_possible("gemm_simt", kProblem, us, std::nullopt));
      CHECK_FALSE(is_possible("no template", kProblem, us, kRates));
    }
    CHECK(is_possible("gemm_simt", kProblem, 0.1, std::nullopt));
    CHECK(is_possible("no template", kProblem, 0.1, kRates));
    // At most 600 TFLOP/s with multiply-adds, and 9600 with tensor cores.
    CHECK(is_possible("gemm_simt", kProblem, 4, kRates));
    CHECK_FALSE(is_possible("gemm_simt", kProblem, 3, kRates));
    CHECK(is_possible("gemm_tf32", kProblem, 3, kRates));
    CHECK_FALSE(is_possible("gemm_tf32", kProblem, 0.2, kRates));
  }

  TEST_CASE("a kernel of an operation without our own reference may use tensor cores") {
    KernelTemplate kernel = *built_in_kernels().find("gemm_simt");
    CHECK_FALSE(is_possible_us(kernel, kProblem, 3, kRates));
    Operation described = gemm_operation();
    described.reference_source = {};
    kernel.operation = &described;
    CHECK(is_possible_us(kernel, kProblem, 3, kRates));
    CHECK_FALSE(is_possible_us(kernel, kProblem, 0.2, kRates));
  }

  TEST_CASE("a time that is no number is none") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_FALSE(possible_time(built_in_kernels())("gemm_simt", kProblem, nan, kRates));
  }

  TEST_CASE("of a problem of another operation the rates say nothing") {
    const Problem other = Problem::parse("transpose m=8 n=8 type=f64");
    CHECK(possible_time(built_in_kernels())("gemm_simt", other, 0.01, kRates));
  }
}

}  // namespace
}  // namespace autotune
