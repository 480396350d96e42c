// The images of kernels that may reach the driver, which is not told their length.
#include "gpu/module.hpp"

#include <doctest/doctest.h>

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
    CHECK(error.code() == 200);
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
}

}  // namespace
}  // namespace autotune::test
