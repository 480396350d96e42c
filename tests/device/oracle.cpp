#include "tests/device/oracle.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/kernel_arguments.hpp"

namespace autotune {
namespace {

constexpr std::int64_t kThreads = 256;
constexpr std::int64_t kMargin = 4096;            // words before C and behind it
constexpr std::uint32_t kUntouched = 0x7fc12345;  // a NaN

constexpr const char* kSource = R"(
__device__ long long thread_index() { return blockIdx.x * 256ll + threadIdx.x; }

__device__ float integer(long long i, unsigned salt) {
  unsigned x = (unsigned)i * 2654435761u + salt * 40503u + 12345u;
  x ^= x >> 13;
  x *= 1540483477u;
  x ^= x >> 15;
  return (float)(int)(x % 5u) - 2.0f;
}

extern "C" __global__ void fill(float* out, long long count, unsigned salt) {
  if (thread_index() < count) out[thread_index()] = integer(thread_index(), salt);
}

// The elements of C, without what pads its rows.
extern "C" __global__ void place(float* c, long long m, long long n, long long ldc, unsigned salt) {
  const long long i = thread_index();
  if (i < m * n) c[i / n * ldc + i % n] = integer(i, salt);
}

// One element of C a thread; c holds it before and after.
extern "C" __global__ void expect(const float* a, const float* b, float* c, long long m,
                                  long long n, long long k, long long a_row, long long a_column,
                                  long long b_row, long long b_column, long long ldc, float alpha,
                                  float beta) {
  const long long i = thread_index();
  if (i >= m * n) return;
  const long long row = i / n;
  const long long column = i % n;
  double sum = 0;
  for (long long p = 0; p < k; ++p) {
    sum += (double)a[row * a_row + p * a_column] * (double)b[p * b_row + column * b_column];
  }
  float* const out = c + row * ldc + column;
  *out = beta == 0 ? alpha * (float)sum : fmaf(beta, *out, alpha * (float)sum);
}

extern "C" __global__ void copy(const unsigned* from, unsigned* to, long long count) {
  if (thread_index() < count) to[thread_index()] = from[thread_index()];
}

extern "C" __global__ void compare(const unsigned* words, const unsigned* expected,
                                   long long count, unsigned long long* mismatches) {
  const long long i = thread_index();
  if (i < count && words[i] != expected[i]) atomicAdd(mismatches, 1ull);
}
)";

std::string compiled(const Gpu& gpu) {
  const gpu::CompileResult result =
      gpu.nvrtc->compile("oracle", kSource, {"-arch=" + gpu.target, "--fmad=false"});
  if (!result.ok) throw Error(result.log);
  return result.image;
}

template <typename... Arguments>
void launch(const gpu::Kernel& kernel, std::int64_t threads, const gpu::Stream& stream,
            Arguments... arguments) {
  void* pointers[] = {&arguments...};
  const std::int64_t blocks = (threads + kThreads - 1) / kThreads;
  kernel.launch({.grid = {blocks, 1, 1}, .block = {kThreads, 1, 1}}, pointers, stream);
}

std::int64_t words_of(const gpu::DeviceBuffer& buffer) {
  return static_cast<std::int64_t>(buffer.size() / 4);
}

gpu::DeviceBuffer buffer(const Oracle& oracle, std::int64_t words) {
  return {oracle.driver(), static_cast<std::size_t>(words) * 4};
}

std::int64_t rows_of_a(const GemmProblem& p) {
  return p.op_a == Transpose::none ? p.m : p.k;
}
std::int64_t rows_of_b(const GemmProblem& p) {
  return p.op_b == Transpose::none ? p.k : p.n;
}

// The address of an operand that begins at this word of a buffer.
std::uint64_t into(const gpu::DeviceBuffer& buffer, std::int64_t words) {
  return buffer.address() + 4 * static_cast<std::uint64_t>(words);
}

}  // namespace

std::string to_string(const GemmCase& gemm) {
  return fmt::format("{} alpha {} beta {} padding {} offset {}", to_string(gemm.problem),
                     gemm.alpha, gemm.beta, gemm.padding, gemm.offset);
}

Oracle::Oracle(const Gpu& gpu, const gpu::Stream& stream)
    : stream_(stream),
      module_(*gpu.driver, compiled(gpu)),
      fill_(module_.kernel("fill")),
      place_(module_.kernel("place")),
      expect_(module_.kernel("expect")),
      copy_(module_.kernel("copy")),
      compare_(module_.kernel("compare")),
      scratch_(*gpu.driver) {}

PreparedCase::PreparedCase(const Oracle& oracle, const GemmCase& gemm)
    : oracle_(oracle),
      gemm_(gemm),
      a_(buffer(oracle, rows_of_a(gemm.problem) * gemm.lda() + gemm.offset)),
      b_(buffer(oracle, rows_of_b(gemm.problem) * gemm.ldb() + gemm.offset)),
      before_(buffer(oracle, gemm.problem.m * gemm.ldc() + gemm.offset + 2 * kMargin)),
      expected_(oracle.driver(), before_.size()),
      c_(oracle.driver(), before_.size()),
      count_(oracle.driver(), sizeof(std::uint64_t)) {
  const gpu::Stream& stream = oracle.stream();
  const auto& [m, n, k, op_a, op_b, math, order, batch, types] = gemm.problem;
  launch(oracle.fill_, words_of(a_), stream, a_.address(), words_of(a_), 1U);
  launch(oracle.fill_, words_of(b_), stream, b_.address(), words_of(b_), 2U);
  before_.fill(kUntouched, 0, before_.size(), stream);
  const std::int64_t start = kMargin + gemm.offset;
  if (gemm.beta != 0) {
    launch(oracle.place_, m * n, stream, into(before_, start), m, n, gemm.ldc(), 3U);
  }
  launch(oracle.copy_, words_of(before_), stream, before_.address(), expected_.address(),
         words_of(before_));
  const bool turned_a = op_a == Transpose::transposed;
  const bool turned_b = op_b == Transpose::transposed;
  constexpr std::int64_t kOne = 1;
  launch(oracle.expect_, m * n, stream, into(a_, gemm.offset), into(b_, gemm.offset),
         into(expected_, start), m, n, k, turned_a ? kOne : gemm.lda(),
         turned_a ? gemm.lda() : kOne, turned_b ? kOne : gemm.ldb(), turned_b ? gemm.ldb() : kOne,
         gemm.ldc(), gemm.alpha, gemm.beta);
  stream.synchronize();
}

std::int64_t PreparedCase::mismatches(const gpu::Kernel& kernel, const KernelSignature& signature,
                                      const LaunchGeometry& geometry) const {
  const gpu::Stream& stream = oracle_.stream();
  launch(oracle_.copy_, words_of(c_), stream, before_.address(), c_.address(), words_of(c_));
  count_.fill(0, 0, count_.size(), stream);

  const LaunchValues::Tensor tensors[] = {{into(a_, gemm_.offset), gemm_.lda()},
                                          {into(b_, gemm_.offset), gemm_.ldb()},
                                          {into(c_, kMargin + gemm_.offset), gemm_.ldc()}};
  const std::int64_t sizes[] = {gemm_.problem.m, gemm_.problem.n, gemm_.problem.k};
  const double scalars[] = {gemm_.alpha, gemm_.beta};
  gpu::KernelArguments arguments(oracle_.driver(), ArgumentLayout(signature), geometry,
                                 gemm_operation().tensors(gemm_.problem),
                                 {.tensors = tensors,
                                  .sizes = sizes,
                                  .scalars = scalars,
                                  .workspace = oracle_.scratch(geometry),
                                  .raster = static_cast<std::uint32_t>(geometry.raster)});
  kernel.allow_dynamic_shared(geometry);
  kernel.launch(geometry, arguments.pointers(), stream);

  launch(oracle_.compare_, words_of(c_), stream, c_.address(), expected_.address(), words_of(c_),
         count_.address());
  std::int64_t count = -1;
  count_.copy_to_host(&count, sizeof count, stream);
  stream.synchronize();
  return count;
}

}  // namespace autotune
