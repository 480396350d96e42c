#include "operation/gemm/baseline/cublas.hpp"

#include <cstdlib>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "tests/support/fake_cuda.hpp"

namespace autotune::test {
namespace {

TEST_SUITE("Cublas") {
  TEST_CASE("a library that is not there or is not cuBLAS is told apart") {
    const FakeCuda fake;
    const auto driver = gpu::Driver::open();
    const gpu::Stream stream(*driver);
    ::setenv("AUTOTUNE_CUBLAS", "/nowhere/libcublas.so.13", 1);
    CHECK_THROWS_WITH_AS(gpu::Cublas(*driver, stream), doctest::Contains("was not found"),
                         EnvironmentError);
    ::setenv("AUTOTUNE_CUBLAS", "libm.so.6", 1);
    CHECK_THROWS_WITH_AS(gpu::Cublas(*driver, stream), doctest::Contains("is not cuBLAS"),
                         EnvironmentError);
    ::unsetenv("AUTOTUNE_CUBLAS");
  }
}

}  // namespace
}  // namespace autotune::test
