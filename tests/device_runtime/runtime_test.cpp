// gemm() and tune() inside an application that uses the CUDA runtime: on a real GPU.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "tests/api/temporary_storage.hpp"
#include "tests/device_runtime/device_numbers.hpp"

namespace autotune::test {
namespace {

const LibraryOptions kFirst{.device = Device::gpu(0)};
const TuningOptions kFewTrials{.budget_trials = 4};
const GemmProblem kProblem{.m = 150, .n = 70, .k = 33};

void check(cudaError_t code) {
  REQUIRE_MESSAGE(code == cudaSuccess, cudaGetErrorString(code));
}

// By the driver itself: the runtime would make a context to answer.
CUcontext current_context() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  REQUIRE(driver != nullptr);
  CUcontext context = nullptr;
  reinterpret_cast<CUresult (*)(CUcontext*)>(dlsym(driver, "cuCtxGetCurrent"))(&context);
  return context;
}

class Matrix {
 public:
  explicit Matrix(const std::vector<float>& values) : size_(values.size()) {
    check(cudaMalloc(&data_, size_ * sizeof(float)));
    check(cudaMemcpy(data_, values.data(), size_ * sizeof(float), cudaMemcpyHostToDevice));
  }
  ~Matrix() { cudaFree(data_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  [[nodiscard]] float* data() const { return static_cast<float*>(data_); }
  [[nodiscard]] std::vector<float> values(cudaStream_t stream) const {
    std::vector<float> result(size_);
    check(cudaMemcpyAsync(result.data(), data_, size_ * sizeof(float), cudaMemcpyDeviceToHost,
                          stream));
    check(cudaStreamSynchronize(stream));
    return result;
  }

 private:
  void* data_ = nullptr;
  std::size_t size_;
};

// Whole numbers from -2 to 2.
std::vector<float> waves(std::int64_t count, float step) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(std::round(2 * std::sin(step * static_cast<float>(i))));
  }
  return values;
}

// A product with padded rows. Of whole numbers, so the result is exact in whatever order a kernel
// adds.
struct Product {
  GemmProblem problem;
  std::int64_t lda = problem.lda() + 3;
  std::int64_t ldb = problem.ldb() + 1;
  std::int64_t ldc = problem.ldc() + 2;
  std::vector<float> host_a = waves(problem.m * lda, 0.7f);
  std::vector<float> host_b = waves(problem.k * ldb, 1.3f);
  std::vector<float> host_c = waves(problem.m * ldc, 0.1f);
  Matrix a{host_a}, b{host_b}, c{host_c};

  MatchKind run(Library& library, cudaStream_t stream) const {
    return library.gemm(problem, 2, {a.data(), lda}, {b.data(), ldb}, -1, {c.data(), ldc}, stream);
  }
  // After this many runs.
  [[nodiscard]] std::vector<float> expected(int runs) const {
    std::vector<float> result = host_c;
    for (int run = 0; run < runs; ++run) {
      for (std::int64_t i = 0; i < problem.m; ++i) {
        for (std::int64_t j = 0; j < problem.n; ++j) {
          float sum = 0;
          for (std::int64_t l = 0; l < problem.k; ++l) {
            sum = std::fma(host_a[static_cast<std::size_t>(i * lda + l)],
                           host_b[static_cast<std::size_t>(l * ldb + j)], sum);
          }
          float& element = result[static_cast<std::size_t>(i * ldc + j)];
          element = std::fma(-1.f, element, 2 * sum);
        }
      }
    }
    return result;
  }
};

// The sums of these numbers depend on the order in which a kernel adds them. Each seed has an A of
// its own.
Product random_product(const GemmProblem& problem, unsigned seed) {
  return {.problem = problem,
          .lda = problem.k,
          .ldb = problem.n,
          .ldc = problem.n,
          .host_a = uniform_numbers(problem.m * problem.k, seed),
          .host_b = uniform_numbers(problem.k * problem.n, 100),
          .host_c = uniform_numbers(problem.m * problem.n, 101)};
}

TEST_SUITE("embedding with the CUDA runtime") {
  TEST_CASE("context, device and pending error are left as they were") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    check(cudaSetDevice(0));
    const Product product{kProblem};
    const CUcontext before = current_context();
    REQUIRE(before != nullptr);
    REQUIRE(cudaMalloc(nullptr, 1) == cudaErrorInvalidValue);  // the error that stays pending

    Library library(kFirst);
    const MatchKind untuned = library.query(kProblem).match;
    CHECK(untuned != MatchKind::exact);
    CHECK(product.run(library, nullptr) == untuned);
    const TuningResult result = library.tune({kProblem}, kFewTrials);
    CHECK(result.measured == 4);
    CHECK(result.problems.front().winner.has_value());
    CHECK(product.run(library, nullptr) == MatchKind::exact);

    CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(current_context() == before);
    int device = -1;
    check(cudaGetDevice(&device));
    CHECK(device == 0);
    CHECK(product.c.values(nullptr) == product.expected(2));
  }

  TEST_CASE("a thread without a context has none afterwards") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    const Product product{kProblem};
    CUcontext after = nullptr;
    std::thread([&] {
      Library library(kFirst);
      product.run(library, nullptr);
      after = current_context();
      check(cudaDeviceSynchronize());
    }).join();
    CHECK(after == nullptr);
    CHECK(product.c.values(nullptr) == product.expected(1));
  }

  TEST_CASE("products keep the order of their stream") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    const Product product{{.m = 300, .n = 200, .k = 100}};
    const DeviceStream stream;
    Library library(kFirst);
    library.prepare(product.problem);
    // Behind a long queue: what ran out of order would read what is not there yet.
    const Matrix late(std::vector<float>(product.host_b.size(), 0));
    const Matrix ballast(std::vector<float>(2048 * 2048, 0));
    const Matrix ballast_result(std::vector<float>(2048 * 2048, 0));
    for (int run = 0; run < 20; ++run) {
      library.gemm({.m = 2048, .n = 2048, .k = 2048}, 1, {ballast.data(), 2048},
                   {ballast.data(), 2048}, 0, {ballast_result.data(), 2048}, stream);
    }
    check(cudaMemcpyAsync(late.data(), product.b.data(), product.host_b.size() * sizeof(float),
                          cudaMemcpyDeviceToDevice, stream));
    for (int run = 0; run < 5; ++run) {
      library.gemm(product.problem, 2, {product.a.data(), product.lda}, {late.data(), product.ldb},
                   -1, {product.c.data(), product.ldc}, stream);
    }
    CHECK(product.c.values(stream) == product.expected(5));
  }

  TEST_CASE("matrices by columns, in every layout") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    Library library(kFirst);
    const DeviceStream stream;
    for (const char* const layout : {"NN", "NT", "TN", "TT"}) {
      CAPTURE(layout);
      GemmProblem problem = kProblem;
      problem.order = Order::column_major;
      set_layout(problem, layout);
      const bool a_lies_across = problem.op_a == Transpose::transposed;
      const bool b_lies_across = problem.op_b == Transpose::transposed;
      const std::int64_t lda = problem.lda() + 3;
      const std::int64_t ldb = problem.ldb() + 1;
      const std::int64_t ldc = problem.ldc() + 2;
      const std::vector<float> a = waves(lda * std::max(problem.m, problem.k), 0.7f);
      const std::vector<float> b = waves(ldb * std::max(problem.n, problem.k), 1.3f);
      std::vector<float> c = waves(ldc * problem.n, 0.1f);
      const Matrix on_a(a);
      const Matrix on_b(b);
      const Matrix on_c(c);
      library.gemm(problem, 2, {on_a.data(), lda}, {on_b.data(), ldb}, -1, {on_c.data(), ldc},
                   stream);
      for (std::int64_t i = 0; i < problem.m; ++i) {
        for (std::int64_t j = 0; j < problem.n; ++j) {
          float sum = 0;
          for (std::int64_t l = 0; l < problem.k; ++l) {
            sum += a[static_cast<std::size_t>(a_lies_across ? l + i * lda : i + l * lda)] *
                   b[static_cast<std::size_t>(b_lies_across ? j + l * ldb : l + j * ldb)];
          }
          float& element = c[static_cast<std::size_t>(i + j * ldc)];
          element = 2 * sum - element;
        }
      }
      CHECK(on_c.values(stream) == c);
    }
  }

  TEST_CASE("a warm product is captured into a graph, a cold one refused") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    const Product product = random_product(kProblem, 1);
    const Product direct = random_product(kProblem, 1);
    const DeviceStream stream;
    Library library(kFirst);
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK_THROWS_AS(product.run(library, stream), UsageError);
    check(cudaStreamEndCapture(stream, &graph));  // it was not broken
    check(cudaGraphDestroy(graph));

    library.prepare(kProblem);
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    product.run(library, stream);
    product.run(library, stream);
    check(cudaStreamEndCapture(stream, &graph));
    CHECK(product.c.values(stream) == product.host_c);
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph, 0));
    for (int launch = 0; launch < 3; ++launch) check(cudaGraphLaunch(executable, stream));
    for (int run = 0; run < 6; ++run) direct.run(library, stream);
    CHECK(bits_of(product.c.values(stream)) == bits_of(direct.c.values(stream)));
    CHECK(product.c.values(stream) != product.host_c);
    check(cudaGraphExecDestroy(executable));
    check(cudaGraphDestroy(graph));
  }

  TEST_CASE("a captured product takes factors from memory each time, and leaves C for D") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    const DeviceStream stream;
    Library library(kFirst);
    for (const GemmProblem& problem : {kProblem,
                                       {.m = 64, .n = 64, .k = 65536},
                                       {.m = 1, .n = 500, .k = 300},
                                       {.m = 512, .n = 256, .k = 384, .math = Math::emulated},
                                       {.m = 33, .n = 50, .k = 60, .batch = 3}}) {
      CAPTURE(to_string(problem));
      const auto size = static_cast<std::size_t>(problem.m * problem.n * problem.batch);
      const Matrix a(uniform_numbers(problem.m * problem.k * problem.batch, 1));
      const Matrix b(uniform_numbers(problem.k * problem.n * problem.batch, 2));
      const std::vector<float> host_c = uniform_numbers(static_cast<std::int64_t>(size), 3);
      const Matrix c(host_c);
      const Matrix d(std::vector<float>(size, 7));
      const Matrix direct(host_c);
      const Matrix factors({2, -1});
      const auto call_to = [&](const Matrix& to) {
        return GemmArguments{.a = {a.data(), 0, problem.m * problem.k},
                             .b = {b.data(), 0, problem.k * problem.n},
                             .c = {to.data(), 0, problem.m * problem.n},
                             .stream = stream};
      };
      GemmArguments call = call_to(c);
      call.alpha_ptr = factors.data();
      call.beta_ptr = factors.data() + 1;
      call.d = {d.data(), 0, problem.m * problem.n};
      library.gemm(problem, call);
      cudaGraph_t graph = nullptr;
      check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
      REQUIRE(library.try_gemm(problem, call) == Outcome::done);
      check(cudaStreamEndCapture(stream, &graph));
      cudaGraphExec_t executable = nullptr;
      check(cudaGraphInstantiate(&executable, graph, 0));
      for (const std::vector<float>& values :
           {std::vector<float>{2, -1}, {0.3F, 0}, {0, 3}, {-1.7F, 0.4F}}) {
        check(cudaMemcpyAsync(factors.data(), values.data(), sizeof(float) * 2,
                              cudaMemcpyHostToDevice, stream));
        check(cudaGraphLaunch(executable, stream));
        check(cudaMemcpyAsync(direct.data(), host_c.data(), sizeof(float) * size,
                              cudaMemcpyHostToDevice, stream));
        GemmArguments plain = call_to(direct);
        plain.alpha = values[0];
        plain.beta = values[1];
        library.gemm(problem, plain);
        CHECK(bits_of(d.values(stream)) == bits_of(direct.values(stream)));
      }
      CHECK(c.values(stream) == host_c);
      check(cudaGraphExecDestroy(executable));
      check(cudaGraphDestroy(graph));
    }
  }

  TEST_CASE("several threads with streams of their own") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    Library library(kFirst);
    std::vector<int> right(4);
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < right.size(); ++thread) {
      threads.emplace_back([&library, &right, thread] {
        const DeviceStream stream;
        const Product product{{.m = 40 + static_cast<std::int64_t>(thread), .n = 50, .k = 60}};
        for (int run = 0; run < 10; ++run) product.run(library, stream);
        right[thread] = product.c.values(stream) == product.expected(10);
      });
    }
    threads.clear();
    CHECK(right == std::vector<int>(4, 1));
  }

  TEST_CASE("products on one stream keep their sums, from several threads and in a graph") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    Library library(kFirst);
    const GemmProblem deep{.m = 64, .n = 64, .k = 65536};  // blocks share its tiles
    constexpr int kRuns = 20;
    const auto results = [&](unsigned seed, cudaStream_t stream) {
      const Product one = random_product(deep, seed);
      for (int run = 0; run < kRuns; ++run) one.run(library, stream);
      return bits_of(one.c.values(stream));
    };
    std::vector<std::vector<std::uint32_t>> alone;
    for (const unsigned seed : {0U, 1U, 2U}) alone.push_back(results(seed, nullptr));

    std::vector<std::vector<std::uint32_t>> together(alone.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < together.size(); ++i) {
      threads.emplace_back([&, i] { together[i] = results(static_cast<unsigned>(i), nullptr); });
    }
    threads.clear();
    for (std::size_t i = 0; i < together.size(); ++i) {
      threads.emplace_back([&, i] {
        const auto own = results(static_cast<unsigned>(i), cudaStreamPerThread);
        if (own != alone[i]) together[i].clear();
      });
    }
    threads.clear();
    CHECK(together == alone);

    const DeviceStream stream;
    const Product captured = random_product(deep, 0);
    library.prepare(deep, stream);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int run = 0; run < kRuns; ++run) captured.run(library, stream);
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&executable, graph, 0));
    check(cudaGraphLaunch(executable, stream));
    CHECK(bits_of(captured.c.values(stream)) == alone[0]);
    check(cudaGraphExecDestroy(executable));
    check(cudaGraphDestroy(graph));
  }

  TEST_CASE("a product has what the one before it on the stream has written") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    Library library(kFirst);
    // Each product moves all columns by one; after as many they are back.
    for (const std::int64_t n : {32, 96, 256, 1600}) {
      CAPTURE(n);
      std::vector<float> next(static_cast<std::size_t>(n * n));
      for (std::int64_t i = 0; i < n; ++i) next[static_cast<std::size_t>(i * n + (i + 1) % n)] = 1;
      const std::vector<float> values = waves(n * n, 0.7f);
      const Matrix moving(next);
      const Matrix one(values);
      const Matrix other(std::vector<float>(values.size()));
      const DeviceStream stream;
      for (std::int64_t step = 0; step < n; step += 2) {
        const GemmProblem problem{.m = n, .n = n, .k = n};
        library.gemm(problem, 1, {one.data(), n}, {moving.data(), n}, 0, {other.data(), n}, stream);
        library.gemm(problem, 1, {other.data(), n}, {moving.data(), n}, 0, {one.data(), n}, stream);
      }
      CHECK(one.values(stream) == values);
    }
  }

  TEST_CASE("three hundred threads on streams of their own leave no memory of the device behind") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    Library library(kFirst);
    const Product product{{.m = 64, .n = 64, .k = 65536}};  // whose sums several blocks share
    const auto multiply = [&] {
      std::thread([&] {
        product.run(library, cudaStreamPerThread);
        check(cudaStreamSynchronize(cudaStreamPerThread));
      }).join();
    };
    const auto free_bytes = [] {
      std::size_t free = 0;
      std::size_t total = 0;
      check(cudaMemGetInfo(&free, &total));
      return free;
    };
    for (int i = 0; i < 10; ++i) multiply();
    const std::size_t before = free_bytes();
    for (int i = 0; i < 300; ++i) multiply();
    // The driver hands memory out by pages of 2 MiB, of which a thread's workspace takes one at
    // least.
    CHECK(free_bytes() + (std::size_t{2} << 20) >= before);
  }

  TEST_CASE("the device may be reset before the Library is destroyed") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    {
      Library library(kFirst);
      const Product product{kProblem};
      product.run(library, nullptr);
      check(cudaDeviceSynchronize());
      check(cudaDeviceReset());
    }
    const Product product{kProblem};
    Library library(kFirst);
    product.run(library, nullptr);
    CHECK(product.c.values(nullptr) == product.expected(1));
  }
}

}  // namespace
}  // namespace autotune::test
