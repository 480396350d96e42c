// The images of kernels that may reach the driver, which is not told their length.
#include "gpu/module.hpp"

#include <cstdio>
#include <memory>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "gpu/nvrtc.hpp"
#include "gpu/shared_library.hpp"
#include "tests/support/fake_cuda.hpp"

namespace autotune::test {
namespace {

// The fake driver does not count the images that it gets. A load that fails with the driver's own
// code shows that the image reached it.
bool reaches_driver(const gpu::Driver& driver, const std::string& image) {
  try {
    const gpu::Module module(driver, image);
  } catch (const gpu::DriverError& error) {
    CHECK(error.cuda_result() == 200);
    return true;
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "the compiled kernel is damaged");
  }
  return false;
}

TEST_SUITE("Module") {
  TEST_CASE("only text and whole cubins reach the driver") {
    const FakeCuda fake("cuModuleLoadData:200");
    const auto driver = gpu::Driver::open();
    const std::string fat_binary("\x50\xed\x55\xba\x01\x00\x10\x00\xff\xff\xff\xff", 12);
    const std::string cubin_with_damaged_head(
        "\x7e"
        "ELF\x02\x01\x01\x00",
        8);
    CHECK(reaches_driver(*driver, ".version 9.0\n.target sm_90\n"));
    CHECK_FALSE(reaches_driver(*driver, fat_binary));
    CHECK_FALSE(reaches_driver(*driver, cubin_with_damaged_head));
    CHECK_FALSE(reaches_driver(*driver, std::string(64, '\0')));
  }

  TEST_CASE("a name that is not a kernel of the module is an error") {
    FakeCuda fake;
    const auto driver = gpu::Driver::open();
    const gpu::Module module(*driver, "// PTX");
    fake.set_script("cuModuleGetFunction:500");
    CHECK_THROWS_AS((void)module.kernel("absent"), gpu::DriverError);
  }

  TEST_CASE("a cubin's kernel is launched behind the one that prepares for it") {
    std::shared_ptr<const gpu::Nvrtc> nvrtc;
    try {
      nvrtc = gpu::Nvrtc::open();
    } catch (const EnvironmentError& error) {
      std::printf("SKIPPED: %s\n", error.what());
      return;
    }
    const std::string image = nvrtc
                                  ->compile("pair",
                                            "extern \"C\" __global__ void pair() {}\n"
                                            "extern \"C\" __global__ void pair_prepare() {}\n",
                                            {"-arch=sm_90"})
                                  .image;
    REQUIRE(!image.empty());
    const FakeCuda fake;
    const gpu::SharedLibrary library = *gpu::SharedLibrary::open(AUTOTUNE_FAKE_CUDA);
    const auto count = library.function<int (*)()>("fake_cuda_prepared_launches");
    const auto driver = gpu::Driver::open();
    const gpu::Stream stream(*driver);
    const gpu::Module module(*driver, image);
    const LaunchGeometry geometry{.preparation = {.blocks = 8, .threads = 64},
                                  .waits_for_launch_before = true};
    const auto launches = [&](const std::string& name) {
      const int before = count();
      module.kernel(name).launch(geometry, nullptr, stream);
      return count() - before;
    };
    CHECK(launches("pair") == 2);
    CHECK(launches("pair_prepare") == 1);
  }
}

}  // namespace
}  // namespace autotune::test
