#include "cpu/block_runner.hpp"

#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/gemm.hpp"

namespace {

// Kernels of this file, written in the words of CUDA C++.
#include "cpu/prelude/cuda_intrinsics.hpp"
#include "cpu/prelude/kernel_call.hpp"

using autotune::BlockRunner;
using autotune::KernelEntry;
using autotune::LaunchGeometry;
using autotune::test::GemmArguments;
using autotune::test::GemmCall;

// c[i] = i + (what thread n - 1 - i has written to shared memory) in each of k phases; n threads.
void exchange(const float*, const float*, float* c, long long, long long n, long long k, long long,
              long long, long long, float, float, float*, unsigned) {
  __shared__ float shared[1024];
  const unsigned i = threadIdx.x;
  float sum = 0;
  for (long long phase = 0; phase < k; ++phase) {
    shared[i] = static_cast<float>(i + 1000 * phase);
    __syncthreads();
    sum += shared[n - 1 - i];
    __syncthreads();
  }
  c[i] = sum;
}

// c receives, for each thread, the position that it sees.
void places(const float*, const float*, float* c, long long, long long, long long, long long,
            long long, long long, float, float, float*, unsigned) {
  const unsigned number = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  c[number] = static_cast<float>(1000 * block + number);
}

// Thread (1, 2, 0) ends without the barrier.
void one_leaves(const float*, const float*, float*, long long, long long, long long, long long,
                long long, long long, float, float, float*, unsigned) {
  if (threadIdx.x == 1 && threadIdx.y == 2) return;
#line 7001
  __syncthreads();
}

// Half of the threads go to another barrier than the rest.
void two_barriers(const float*, const float*, float*, long long, long long, long long, long long,
                  long long, long long, float, float, float*, unsigned) {
  if (threadIdx.x < 2) {
#line 8001
    __syncthreads();
  } else {
#line 8002
    __syncthreads();
  }
}

// Thread 0 waits once more often than the others.
void one_waits_longer(const float*, const float*, float*, long long, long long, long long,
                      long long, long long, long long, float, float, float*, unsigned) {
  for (unsigned i = 0; i < (threadIdx.x == 0 ? 3 : 2); ++i) {
#line 9001
    __syncthreads();
  }
}

template <auto kKernel>
KernelEntry entry() {
  return {[](void** arguments) { autotune_call_kernel(kKernel, arguments); },
          autotune_kernel_state()};
}

template <auto kKernel>
std::optional<std::string> run(BlockRunner& runner, const GemmCall& call,
                               const LaunchGeometry& geometry, std::size_t block = 0) {
  GemmArguments arguments(call);
  return runner.run(entry<kKernel>(), arguments.pointers(), geometry, block);
}

LaunchGeometry threads(std::int64_t count) {
  return {.block = {count, 1, 1}};
}

TEST_SUITE("BlockRunner") {
  TEST_CASE("a barrier makes what all threads wrote visible to all") {
    BlockRunner runner;
    for (const int count : {1, 2, 31, 256, 1024}) {
      CAPTURE(count);
      std::vector<float> c(static_cast<std::size_t>(count), -1);
      const GemmCall call{.c = c.data(), .n = count, .k = 3};
      CHECK_FALSE(run<exchange>(runner, call, threads(count)));
      int wrong = 0;
      for (int i = 0; i < count; ++i) {
        const float expected = static_cast<float>(3 * (count - 1 - i) + 3000);
        if (c[static_cast<std::size_t>(i)] != expected) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }

  TEST_CASE("threads and blocks are counted along x then y then z") {
    BlockRunner runner;
    const LaunchGeometry geometry{.grid = {3, 2, 2}, .block = {4, 3, 2}};
    for (std::size_t block = 0; block < 12; ++block) {
      std::vector<float> c(24, -1);
      CHECK_FALSE(run<places>(runner, {.c = c.data()}, geometry, block));
      std::size_t right = 0;
      for (std::size_t i = 0; i < c.size(); ++i) {
        if (c[i] == static_cast<float>(1000 * block + i)) ++right;
      }
      CHECK(right == 24);
    }
  }

  TEST_CASE("a barrier that an ended thread misses is named") {
    BlockRunner runner;
    const LaunchGeometry geometry{.block = {4, 4, 1}};
    CHECK(run<one_leaves>(runner, {}, geometry).value() ==
          "15 of 16 threads wait at the barrier in line 7001, but thread (1, 2, 0) has ended");
  }

  TEST_CASE("waiting at different barriers is named") {
    BlockRunner runner;
    CHECK(run<two_barriers>(runner, {}, threads(4)).value() ==
          "thread (2, 0, 0) waits at the barrier in line 8002, others at the one in line 8001");
  }

  TEST_CASE("waiting at another count is named") {
    BlockRunner runner;
    CHECK(run<one_waits_longer>(runner, {}, threads(8)).value() ==
          "1 of 8 threads wait at the barrier in line 9001, but thread (7, 0, 0) has ended");
  }

  TEST_CASE("a block runs well after one that was abandoned") {
    BlockRunner runner;
    std::vector<float> c(64, -1);
    CHECK(run<two_barriers>(runner, {}, threads(64)));
    CHECK_FALSE(run<exchange>(runner, {.c = c.data(), .n = 64, .k = 1}, threads(64)));
    CHECK(c.front() == 63);
    CHECK(c.back() == 0);
  }
}

}  // namespace
