#include <cstdlib>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "gpu/nvrtc.hpp"

namespace autotune::test {

TEST_SUITE("Nvrtc") {
  TEST_CASE("one of another major version is told apart") {
    ::setenv("AUTOTUNE_NVRTC", AUTOTUNE_OLD_NVRTC, 1);
    CHECK_THROWS_WITH_AS(gpu::Nvrtc::open(),
                         AUTOTUNE_OLD_NVRTC " is not an NVRTC of CUDA 12.1 or newer",
                         EnvironmentError);
    ::unsetenv("AUTOTUNE_NVRTC");
  }
}

}  // namespace autotune::test
