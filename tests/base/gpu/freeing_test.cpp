// A driver that fails when things are given back to it, as it does after a fault of a kernel.
#include <doctest/doctest.h>

#include "gpu/context.hpp"
#include "gpu/driver.hpp"
#include "gpu/memory.hpp"
#include "gpu/module.hpp"
#include "gpu/stream.hpp"
#include "tests/support/fake_cuda.hpp"

namespace autotune::test {

TEST_SUITE("Driver") {
  TEST_CASE("a destructor ignores each poisonous code of a call that frees") {
    FakeCuda fake;
    const auto driver = gpu::Driver::open();
    for (const int code : kPoisonousCodes) {
      CAPTURE(code);
      {
        const gpu::Stream stream(*driver);
        const gpu::Event event(*driver);
        const gpu::Module module(*driver, "// PTX");
        const gpu::DeviceBuffer memory(*driver, 64);
        const gpu::PinnedBuffer pinned(*driver, 64);
        std::string script;
        for (const char* call : {"cuStreamDestroy", "cuEventDestroy", "cuModuleUnload", "cuMemFree",
                                 "cuMemFreeHost"}) {
          script += std::string(call) + ":" + std::to_string(code) + ";";
        }
        fake.set_script(script);
      }
      fake.set_script("");
      CHECK_NOTHROW(gpu::Stream(*driver).synchronize());  // the driver is asked no more than that
    }
  }
}

}  // namespace autotune::test
