// Opening the driver, and what its errors come out as. Against the fake driver.
#include "gpu/driver.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include <doctest/doctest.h>

#include "gpu/context.hpp"
#include "gpu/device.hpp"
#include "gpu/kernel_arguments.hpp"
#include "gpu/memory.hpp"
#include "gpu/module.hpp"
#include "gpu/shared_library.hpp"
#include "tests/support/fake_cuda.hpp"

namespace autotune::test {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Returns why the driver could not be opened.
std::string refusal() {
  try {
    gpu::Driver::open();
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "opened";
}

// The code of the DriverError that an action ends with; 0 without one.
int code_of(const std::function<void()>& action, const std::string& call) {
  try {
    action();
  } catch (const gpu::DriverError& error) {
    CHECK_MESSAGE(has(error.what(), call + ": "), error.what());
    CHECK_MESSAGE(has(error.what(), "(" + std::to_string(error.cuda_result()) + ")"), error.what());
    return error.cuda_result();
  }
  return 0;
}

TEST_SUITE("copy_rows()") {
  TEST_CASE("copies rows of matrices that lie in any way, and nothing between them") {
    const FakeCuda fake;
    const auto driver = gpu::Driver::open();
    const auto library = gpu::SharedLibrary::open(AUTOTUNE_FAKE_CUDA);
    const auto take_calls = library->function<const char* (*)()>("fake_cuda_take_calls");
    struct Case {
      std::int64_t rows, matrices;
      std::int64_t to_row, to_matrix;      // bytes
      std::int64_t from_row, from_matrix;  // 0: all are the same matrix
      int copies;
    };
    constexpr std::int64_t kWidth = 3;
    for (const auto& [rows, matrices, to_row, to_matrix, from_row, from_matrix, copies] :
         {Case{4, 1, 3, 0, 3, 0, 1}, Case{4, 1, 5, 0, 3, 0, 1}, Case{4, 2, 3, 12, 3, 12, 1},
          Case{4, 2, 3, 13, 3, 12, 2}, Case{4, 3, 5, 20, 4, 0, 3}, Case{4, 3, 5, 20, 4, 16, 1},
          Case{1, 1, 3, 0, 3L << 30, 0, 1}}) {
      CAPTURE(to_row);
      CAPTURE(from_row);
      std::string from(200, ' ');
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>('!' + i % 90);
      std::string to(200, ' ');
      std::string expected = to;
      for (std::int64_t i = 0; i < rows * matrices; ++i) {
        const auto at = [&](std::int64_t row, std::int64_t matrix) {
          return static_cast<std::size_t>(i % rows * row + i / rows * matrix);
        };
        expected.replace(at(to_row, to_matrix), kWidth, from, at(from_row, from_matrix), kWidth);
      }
      const auto place = [](std::string& text, std::int64_t row, std::int64_t matrix) {
        return gpu::RowPlace{reinterpret_cast<std::uintptr_t>(text.data()), row, matrix};
      };
      static_cast<void>(take_calls());
      gpu::copy_rows(*driver, place(to, to_row, to_matrix), place(from, from_row, from_matrix),
                     kWidth, rows, matrices, nullptr);
      CHECK(to == expected);
      CHECK(std::ranges::count(std::string(take_calls()), 'M') == copies);  // each is a cuMemcpy...
    }
  }
}

TEST_SUITE("Driver") {
  TEST_CASE("opens and tells its version and devices") {
    const FakeCuda fake("driver=12040;devices=2");
    const auto driver = gpu::Driver::open();
    CHECK(driver->cuda_version() == 12040);
    CHECK(driver->device_count() == 2);
    CHECK(driver->path() == AUTOTUNE_FAKE_CUDA);
  }

  TEST_CASE("a machine without the library is told so") {
    const FakeCuda fake;
    ::setenv("AUTOTUNE_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    CHECK(refusal() == "no NVIDIA driver on this machine (/nowhere/libcuda.so.1 was not found)");
    ::setenv("AUTOTUNE_LIBCUDA", "/etc/passwd", 1);
    CHECK(has(refusal(), "no NVIDIA driver on this machine (/etc/passwd: "));
    CHECK_FALSE(has(refusal(), "not found"));
  }

  TEST_CASE("a library that is not a driver is told apart") {
    const FakeCuda fake;
    ::setenv("AUTOTUNE_LIBCUDA", "libm.so.6", 1);
    CHECK_MESSAGE(has(refusal(), "is no CUDA driver"), refusal());
  }

  TEST_CASE("the stub of the toolkit is told apart") {
    const FakeCuda fake("stub");
    CHECK_MESSAGE(has(refusal(), "is the CUDA toolkit's stub"), refusal());
    CHECK_MESSAGE(has(refusal(), AUTOTUNE_FAKE_CUDA), refusal());
  }

  TEST_CASE("an old driver is refused with its version and the one needed") {
    FakeCuda fake("driver=11080");
    CHECK_MESSAGE(has(refusal(), "supports CUDA 11.8, but 12.0 is needed"), refusal());
    fake.set_script("driver=12000");
    CHECK(refusal() == "opened");
  }

  TEST_CASE("a driver without a device is told apart") {
    const FakeCuda fake("devices=0");
    CHECK(refusal() == "the NVIDIA driver is here, but it sees no GPU");
  }

  TEST_CASE("a driver that cannot be initialised gives its reason") {
    const FakeCuda fake("cuInit:999");
    CHECK(refusal() ==
          "the NVIDIA driver could not be initialised: CUDA_ERROR_FAKE (999): as scripted");
  }

  TEST_CASE("errors have names even where the driver knows none") {
    const FakeCuda fake("cuGetErrorName:1");
    const auto driver = gpu::Driver::open();
    CHECK(driver->describe(2) == "CUDA_ERROR_OUT_OF_MEMORY (2)");
    CHECK(driver->describe(12345) == "CUDA error 12345 (12345)");
  }

  TEST_CASE("twelve codes poison the process and no other") {
    for (int code = 0; code <= 2000; ++code) {
      CAPTURE(code);
      const bool expected =
          std::count(std::begin(kPoisonousCodes), std::end(kPoisonousCodes), code) == 1;
      CHECK(gpu::poisons_process(code) == expected);
      CHECK(gpu::is_out_of_memory(code) == (code == 2));
    }
    CHECK(std::size(kPoisonousCodes) == 12);
  }

  TEST_CASE("each poisonous code comes out of loading and launching and synchronising") {
    FakeCuda fake;
    const auto driver = gpu::Driver::open();
    const gpu::Stream stream(*driver);
    const gpu::Module module(*driver, "// PTX");
    const gpu::Kernel kernel = module.kernel("any");
    for (const int code : kPoisonousCodes) {
      CAPTURE(code);
      const auto fail = [&](const std::string& call, const std::function<void()>& action) {
        fake.set_script(call + ":" + std::to_string(code));
        CHECK(code_of(action, call) == code);
        fake.set_script("");
        CHECK(code_of(action, call) == 0);
      };
      fail("cuModuleLoadData", [&] { const gpu::Module other(*driver, "// PTX"); });
      fail("cuLaunchKernelEx", [&] { kernel.launch({}, nullptr, stream); });
      fail("cuTensorMapEncodeTiled", [&] {
        const TensorDesc tensor{.rows = 64, .columns = 64, .row_stride = 64};
        const LaunchValues::Tensor placed{.address = 0, .row_stride = 64};
        const ArgumentLayout layout({{ArgumentKind::tensor_map, 0}});
        const gpu::KernelArguments arguments(*driver, layout, {.tensor_boxes = {{{32, 64}}}},
                                             {&tensor, 1}, {.tensors = {&placed, 1}});
      });
      fail("cuStreamSynchronize", [&] { stream.synchronize(); });
    }
  }

  TEST_CASE("a damaged cubin does not reach the driver") {
    const FakeCuda fake;
    const auto driver = gpu::Driver::open();
    CHECK_THROWS_WITH_AS(gpu::Module(*driver,
                                     "\x7f"
                                     "ELF and nothing more"),
                         "the compiled kernel is damaged", Error);
  }
}

TEST_SUITE("DeviceBuffer") {
  TEST_CASE("more memory than there is comes out as out of memory") {
    const FakeCuda fake("memory=1000000");
    const auto driver = gpu::Driver::open();
    CHECK(gpu::memory_info(*driver).total_bytes == 1000000);
    const int code =
        code_of([&] { const gpu::DeviceBuffer buffer(*driver, 1000001); }, "cuMemAlloc");
    CHECK(gpu::is_out_of_memory(code));
    CHECK_FALSE(gpu::poisons_process(code));
  }

  TEST_CASE("moves and fills and copies and frees once") {
    const FakeCuda fake;
    const auto driver = gpu::Driver::open();
    const gpu::Stream stream(*driver);
    gpu::DeviceBuffer first(*driver, 16);
    gpu::DeviceBuffer buffer = std::move(first);
    CHECK(first.address() == 0);
    buffer.fill(7, 4, 8, stream);
    std::uint32_t words[4] = {};
    buffer.copy_to_host(words, sizeof words, stream);
    CHECK(words[0] == 0);
    CHECK(words[1] == 7);
    CHECK(words[2] == 7);
    CHECK(words[3] == 0);
    words[3] = 9;
    buffer.copy_from_host(words, sizeof words, stream);
    std::uint32_t back[4] = {};
    buffer.copy_to_host(back, sizeof back, stream);
    CHECK(std::equal(std::begin(words), std::end(words), back));
    buffer = gpu::DeviceBuffer(*driver, 4);
    CHECK(buffer.size() == 4);
  }
}

TEST_SUITE("ContextGuard") {
  TEST_CASE("pushes and pops in balance whatever happens between") {
    FakeCuda fake;
    const auto driver = gpu::Driver::open();
    const auto library = gpu::SharedLibrary::open(driver->path());
    const auto depth = library->function<int (*)()>("fake_cuda_context_depth");
    const gpu::PrimaryContext context(driver, 0);
    CHECK(depth() == 0);
    {
      const gpu::ContextGuard outer(context);
      const gpu::ContextGuard inner(context);
      CHECK(depth() == 2);
    }
    CHECK(depth() == 0);
    const auto work = [&] {
      const gpu::ContextGuard guard(context);
      const gpu::Stream stream(*driver);
      stream.synchronize();
    };
    for (const char* script :
         {"cuStreamCreate:700", "cuStreamSynchronize:719", "cuCtxPushCurrent:709"}) {
      CAPTURE(script);
      fake.set_script(script);
      CHECK_THROWS_AS(work(), gpu::DriverError);
      CHECK(depth() == 0);
    }
  }

  TEST_CASE("a context that cannot be had is an error") {
    const FakeCuda fake("cuDevicePrimaryCtxRetain:2");
    const auto driver = gpu::Driver::open();
    CHECK(code_of([&] { const gpu::PrimaryContext context(driver, 0); },
                  "cuDevicePrimaryCtxRetain") == 2);
  }
}

TEST_SUITE("Graph") {
  TEST_CASE("takes as long as the launches that it captured") {
    const FakeCuda fake;
    const auto driver = gpu::Driver::open();
    const gpu::Stream stream(*driver);
    const gpu::Module module(*driver, "// PTX");
    const gpu::Kernel kernel = module.kernel("any");
    const gpu::Event start(*driver), end(*driver);
    start.record(stream);
    kernel.launch({}, nullptr, stream);
    end.record(stream);
    const double one_us = end.elapsed_us_since(start);
    CHECK(one_us > 0);
    const gpu::Graph graph(stream, [&] {
      for (int i = 0; i < 3; ++i) kernel.launch({}, nullptr, stream);
    });
    start.record(stream);
    graph.launch(stream);
    end.record(stream);
    CHECK(end.elapsed_us_since(start) == doctest::Approx(3 * one_us));
  }

  TEST_CASE("launches that wait for the one before are prepared where the device can do so") {
    const auto prepared = [](const std::string& script, bool waits) {
      const FakeCuda fake(script);
      const gpu::SharedLibrary library = *gpu::SharedLibrary::open(AUTOTUNE_FAKE_CUDA);
      const auto count = library.function<int (*)()>("fake_cuda_prepared_launches");
      const auto driver = gpu::Driver::open();
      const gpu::Stream stream(*driver);
      const gpu::Module module(*driver, "// PTX");
      const int before = count();
      module.kernel("any").launch({.waits_for_launch_before = waits}, nullptr, stream);
      return count() - before;
    };
    CHECK(prepared("", true) == 1);
    CHECK(prepared("", false) == 0);
    CHECK(prepared("binary=80", true) == 0);
    CHECK(prepared("driver=12020", true) == 0);
  }

  TEST_CASE("a capture that fails ends the capture") {
    FakeCuda fake("cuLaunchKernelEx:700");
    const auto driver = gpu::Driver::open();
    const gpu::Stream stream(*driver);
    const gpu::Module module(*driver, "// PTX");
    const gpu::Kernel kernel = module.kernel("any");
    const auto capture = [&] {
      const gpu::Graph graph(stream, [&] { kernel.launch({}, nullptr, stream); });
    };
    CHECK(code_of(capture, "cuLaunchKernelEx") == 700);
    fake.set_script("cuGraphInstantiateWithFlags:2");
    CHECK(code_of(capture, "cuGraphInstantiateWithFlags") == 2);
    fake.set_script("cuStreamBeginCapture:900");
    CHECK(code_of(capture, "cuStreamBeginCapture") == 900);
    fake.set_script("");
    CHECK(code_of(capture, "") == 0);
  }
}

TEST_SUITE("read_device") {
  TEST_CASE("reads the properties of every device") {
    const FakeCuda fake("devices=2;driver=12080;memory=123456789012");
    const auto driver = gpu::Driver::open();
    const DeviceInfo info = gpu::read_device(*driver, 1);
    CHECK(info.ordinal == 1);
    CHECK(info.label == "NVIDIA H200");
    CHECK(info.uuid == "GPU-00010203-0405-0607-0809-0a0b0c0d0e10");
    CHECK(gpu::read_device(*driver, 0).uuid == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
    CHECK(info.memory_bytes == 123456789012);
    CHECK(info.architecture() == "sm_90");
    CHECK(info.sm_count == 132);
    const SmLimits table = *sm_limits("sm_90");
    for (const auto limit :
         {&SmLimits::threads_per_sm, &SmLimits::blocks_per_sm, &SmLimits::registers_per_sm,
          &SmLimits::shared_per_sm, &SmLimits::shared_per_block,
          &SmLimits::shared_reserved_per_block, &SmLimits::threads_per_block}) {
      CHECK(info.sm.*limit == table.*limit);
    }
    CHECK(info.shared_per_block == 48 << 10);
    CHECK(info.l2_bytes == 60 << 20);
    CHECK(info.memory_bus_bits == 6144);
    CHECK_FALSE(info.mig);
    CHECK_FALSE(info.mps);
    CHECK_FALSE(info.kernel_timeout);
    CHECK(info.driver_version == 12080);
  }

  TEST_CASE("the limits of an SM are those that the driver gives") {
    const FakeCuda fake("attribute106=24;attribute82=131072;attribute81=200000");
    const DeviceInfo info = gpu::read_device(*gpu::Driver::open(), 0);
    CHECK(info.sm.blocks_per_sm == 24);
    CHECK(info.sm.registers_per_sm == 131072);
    CHECK(info.sm.shared_per_sm == 200000);
  }

  TEST_CASE("a device that is not there is an error that counts those that are") {
    const FakeCuda fake("devices=2");
    const auto driver = gpu::Driver::open();
    for (const int ordinal : {-1, 2}) {
      CHECK_THROWS_AS(gpu::read_device(*driver, ordinal), EnvironmentError);
    }
    CHECK_THROWS_WITH(gpu::read_device(*driver, 2),
                      "there is no GPU 2: this machine has 2, counted from 0");
  }

  TEST_CASE("what a driver does not know reads as nothing") {
    const FakeCuda fake("cuDeviceGetAttribute:1;cuDeviceGetUuid:1");
    const DeviceInfo info = gpu::read_device(*gpu::Driver::open(), 0);
    CHECK(info.sm_count == 0);
    CHECK(info.uuid == "");
  }
}

}  // namespace
}  // namespace autotune::test
