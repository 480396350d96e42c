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

// Elements of a type by its number, as ElementType has it.
__device__ float load(const void* from, int type, long long i) {
  if (type == 0) return ((const float*)from)[i];
  const unsigned short bits = ((const unsigned short*)from)[i];
  if (type == 2) return __uint_as_float((unsigned)bits << 16);
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

__device__ void store(void* to, int type, long long i, float value) {
  if (type == 0) {
    ((float*)to)[i] = value;
    return;
  }
  unsigned short bits;
  if (type == 2) {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  } else {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  }
  ((unsigned short*)to)[i] = bits;
}

extern "C" __global__ void fill(void* out, int type, long long count, unsigned salt) {
  if (thread_index() < count) store(out, type, thread_index(), integer(thread_index(), salt));
}

// The elements of C, without what pads its rows.
extern "C" __global__ void place(void* c, int type, long long m, long long n, long long ldc,
                                 unsigned salt) {
  const long long i = thread_index();
  if (i < m * n) store(c, type, i / n * ldc + i % n, integer(i, salt));
}

// One element of C a thread; c holds it before and after.
extern "C" __global__ void expect(const void* a, const void* b, void* c, int type, int type_c,
                                  long long m, long long n, long long k, long long a_row,
                                  long long a_column, long long b_row, long long b_column,
                                  long long ldc, float alpha, float beta) {
  const long long i = thread_index();
  if (i >= m * n) return;
  const long long row = i / n;
  const long long column = i % n;
  double sum = 0;
  for (long long p = 0; p < k; ++p) {
    sum += (double)load(a, type, row * a_row + p * a_column) *
           (double)load(b, type, p * b_row + column * b_column);
  }
  const long long at = row * ldc + column;
  const float product = alpha * (float)sum;
  store(c, type_c, at, beta == 0 ? product : fmaf(beta, load(c, type_c, at), product));
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

// The bytes of elements, in whole words.
std::size_t bytes_of(ElementType type, std::int64_t elements) {
  return static_cast<std::size_t>((elements * size_bytes(type) + 3) / 4 * 4);
}

std::int64_t rows_of_a(const GemmProblem& p) {
  return p.op_a == Transpose::none ? p.m : p.k;
}
std::int64_t rows_of_b(const GemmProblem& p) {
  return p.op_b == Transpose::none ? p.k : p.n;
}

// The address of an operand that begins at this element of a buffer, behind a margin.
std::uint64_t into(const gpu::DeviceBuffer& buffer, ElementType type, std::int64_t elements,
                   std::int64_t margin_words = 0) {
  return buffer.address() +
         static_cast<std::uint64_t>(4 * margin_words + size_bytes(type) * elements);
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
      a_(oracle.driver(),
         bytes_of(gemm.problem.types.a, rows_of_a(gemm.problem) * gemm.lda() + gemm.offset)),
      b_(oracle.driver(),
         bytes_of(gemm.problem.types.b, rows_of_b(gemm.problem) * gemm.ldb() + gemm.offset)),
      before_(oracle.driver(),
              bytes_of(gemm.problem.types.c, gemm.problem.m * gemm.ldc() + gemm.offset) +
                  2 * 4 * kMargin),
      expected_(oracle.driver(), before_.size()),
      c_(oracle.driver(), before_.size()),
      count_(oracle.driver(), sizeof(std::uint64_t)) {
  const gpu::Stream& stream = oracle.stream();
  const auto& [m, n, k, op_a, op_b, math, order, batch, types] = gemm.problem;
  const auto fill = [&](const gpu::DeviceBuffer& operand, ElementType type, unsigned salt) {
    const std::int64_t count = static_cast<std::int64_t>(operand.size()) / size_bytes(type);
    launch(oracle.fill_, count, stream, operand.address(), static_cast<int>(type), count, salt);
  };
  fill(a_, types.a, 1U);
  fill(b_, types.b, 2U);
  before_.fill(kUntouched, 0, before_.size(), stream);
  if (gemm.beta != 0) {
    launch(oracle.place_, m * n, stream, into(before_, types.c, gemm.offset, kMargin),
           static_cast<int>(types.c), m, n, gemm.ldc(), 3U);
  }
  launch(oracle.copy_, words_of(before_), stream, before_.address(), expected_.address(),
         words_of(before_));
  const bool turned_a = op_a == Transpose::transposed;
  const bool turned_b = op_b == Transpose::transposed;
  constexpr std::int64_t kOne = 1;
  launch(oracle.expect_, m * n, stream, into(a_, types.a, gemm.offset),
         into(b_, types.b, gemm.offset), into(expected_, types.c, gemm.offset, kMargin),
         static_cast<int>(types.a), static_cast<int>(types.c), m, n, k,
         turned_a ? kOne : gemm.lda(), turned_a ? gemm.lda() : kOne, turned_b ? kOne : gemm.ldb(),
         turned_b ? gemm.ldb() : kOne, gemm.ldc(), gemm.alpha, gemm.beta);
  stream.synchronize();
}

std::int64_t PreparedCase::mismatches(const gpu::Kernel& kernel, const KernelSignature& signature,
                                      const LaunchGeometry& geometry) const {
  const gpu::Stream& stream = oracle_.stream();
  launch(oracle_.copy_, words_of(c_), stream, before_.address(), c_.address(), words_of(c_));
  count_.fill(0, 0, count_.size(), stream);

  const GemmTypes& types = gemm_.problem.types;
  const LaunchValues::Tensor tensors[] = {{into(a_, types.a, gemm_.offset), gemm_.lda()},
                                          {into(b_, types.b, gemm_.offset), gemm_.ldb()},
                                          {into(c_, types.c, gemm_.offset, kMargin), gemm_.ldc()}};
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
