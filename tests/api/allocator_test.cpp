// Memory of the device that comes from the application.
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "autotune/autotune.h"

#include "tests/api/empty_kernels.hpp"
#include "tests/api/fake_machine.hpp"

namespace autotune::test {
namespace {

// An application's pool.
class Pool {
 public:
  [[nodiscard]] void* allocate(std::size_t bytes, Stream stream) {
    void* const address = ::operator new (bytes, std::align_val_t{256});
    in_use_[address] = {bytes, stream};
    return address;
  }
  void release(void* address, Stream stream) {
    CHECK(in_use_.at(address).second == stream);
    in_use_.erase(address);
    ::operator delete (address, std::align_val_t{256});
  }
  [[nodiscard]] Allocator allocator() {
    return {[this](std::size_t bytes, Stream stream) { return allocate(bytes, stream); },
            [this](void* address, Stream stream) { release(address, stream); }};
  }
  [[nodiscard]] std::size_t blocks() const { return in_use_.size(); }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& [address, block] : in_use_) sum += block.first;
    return sum;
  }

 private:
  std::map<void*, std::pair<std::size_t, Stream>> in_use_;
};

LibraryOptions options_with(const Allocator& allocator) {
  LibraryOptions options;
  options.allocator = allocator;
  return options;
}

TEST_SUITE("an allocator of the application's") {
  TEST_CASE("gives streams their memory, and gets it back") {
    const Machine machine;
    Machine::compile_both("gemm_simt", kDeep);
    Pool pool;
    {
      Library library(options_with(pool.allocator()));
      GemmArguments call = kCall;
      call.stream = machine.application.stream(false);
      static_cast<void>(machine.application.take_calls());
      library.gemm(kDeep, call);
      library.gemm(kDeep, call);
      library.gemm(kDeep, kCall);
      CHECK(pool.blocks() == 2);
      CHECK(pool.bytes() == 2 * library.plan(kDeep).workspace_bytes());
      library.release(call.stream);
      CHECK(pool.blocks() == 1);
      library.gemm(kDeep, call);
      library.trim();
      CHECK(pool.blocks() == 0);
      std::thread([&] {
        call.stream = kPerThreadStream;
        library.gemm(kDeep, call);
        CHECK(pool.blocks() == 1);
      }).join();
      CHECK(pool.blocks() == 0);
      library.gemm(kDeep, kCall);
      CHECK(pool.blocks() == 1);
    }
    CHECK(pool.blocks() == 0);
    const std::string calls = machine.application.take_calls();
    CHECK_FALSE(has(calls, "cuMemAlloc"));
    CHECK_FALSE(has(calls, "cuMemFree"));
  }

  TEST_CASE("gives prepared operands theirs") {
    const std::optional<std::string> image = empty_kernels();
    if (!image) return;
    const Machine machine;
    store_kernels(*image, kEmulated);
    Pool pool;
    std::optional<PreparedMatrix> weights;
    {
      Library library(options_with(pool.allocator()));
      static_cast<void>(machine.application.take_calls());
      weights = library.prepare_operand(kEmulated, Operand::b, {kWeights},
                                        machine.application.stream(false));
      CHECK(pool.blocks() == 1);
      CHECK(pool.bytes() == weights->bytes());
    }
    CHECK(pool.blocks() == 1);
    weights.reset();
    CHECK(pool.blocks() == 0);
    CHECK_FALSE(has(machine.application.take_calls(), "cuMemFree"));
  }

  TEST_CASE("that has no memory leads to a kernel that needs none") {
    const Machine machine;
    for (const char* kernel : {"gemm_simt", "gemm_tiled"}) Machine::compile_both(kernel, kDeep);
    Pool pool;
    for (const bool throws : {false, true}) {
      CAPTURE(throws);
      int asked = 0;
      Allocator poor = pool.allocator();
      poor.allocate = [&](std::size_t, Stream) -> void* {
        ++asked;
        if (throws) throw std::bad_alloc();
        return nullptr;
      };
      Library library(options_with(poor));
      for (int times = 0; times < 2; ++times) CHECK_NOTHROW(library.gemm(kDeep, kCall));
      CHECK(asked == 1);
    }
  }

  TEST_CASE("that has no memory for a prepared operand is an error") {
    const std::optional<std::string> image = empty_kernels();
    if (!image) return;
    const Machine machine;
    store_kernels(*image, kEmulated);
    Pool pool;
    Allocator empty = pool.allocator();
    empty.allocate = [](std::size_t, Stream) -> void* { return nullptr; };
    Library library(options_with(empty));
    try {
      static_cast<void>(library.prepare_operand(kEmulated, Operand::b, {kWeights}));
      FAIL("an operand was prepared without memory");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::no_memory);
      CHECK(has(error.what(), "the allocator has no "));
    }
  }

  TEST_CASE("that fails is an error, and the next call asks again") {
    const Machine machine;
    Machine::compile_both("gemm_simt", kDeep);
    Pool pool;
    Allocator failing = pool.allocator();
    int fault = 0;
    failing.allocate = [&](std::size_t bytes, Stream stream) -> void* {
      if (fault == 0) throw std::runtime_error("the pool is shut");
      if (fault == 1) throw 7;
      auto* const address = static_cast<char*>(pool.allocate(bytes + 256, stream));
      return fault == 2 ? address + 4 : address;
    };
    failing.release = [&](void* address, Stream stream) {
      const auto place = reinterpret_cast<std::uintptr_t>(address) / 256 * 256;
      pool.release(reinterpret_cast<void*>(place), stream);
      throw std::runtime_error("which is dropped");
    };
    {
      Library library(options_with(failing));
      for (const char* message :
           {"the allocator failed: the pool is shut",
            "the allocator failed with a foreign exception",
            "the allocator gave an address that is not a multiple of 256 bytes"}) {
        CHECK_THROWS_WITH_AS(library.gemm(kDeep, kCall), message, EnvironmentError);
        CHECK(pool.blocks() == 0);
        ++fault;
      }
      CHECK_NOTHROW(library.gemm(kDeep, kCall));
      CHECK(pool.blocks() == 1);
    }
    CHECK(pool.blocks() == 0);
  }

  TEST_CASE("of C has functions and a pointer") {
    const Machine machine;
    Machine::compile_both("gemm_simt", kDeep);
    Pool pool;
    autotune_options options{};
    options.size = sizeof options;
    options.allocate = [](void* user, std::size_t bytes, autotune_stream stream) {
      return static_cast<Pool*>(user)->allocate(bytes, stream);
    };
    options.release = [](void* user, void* address, autotune_stream stream) {
      static_cast<Pool*>(user)->release(address, stream);
    };
    options.allocator_user = &pool;
    autotune_library* library = nullptr;
    REQUIRE(autotune_open(&options, &library) == AUTOTUNE_OK);
    autotune_problem problem{};
    problem.size = sizeof problem;
    problem.m = kDeep.m;
    problem.n = kDeep.n;
    problem.k = kDeep.k;
    CHECK(autotune_prepare(library, &problem, nullptr) == AUTOTUNE_OK);
    CHECK(pool.blocks() == 1);
    CHECK(autotune_trim(library, 0) == AUTOTUNE_OK);
    CHECK(pool.blocks() == 0);
    autotune_close(library);
  }
}

}  // namespace
}  // namespace autotune::test
