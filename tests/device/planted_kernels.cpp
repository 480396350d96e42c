#include "tests/device/planted_kernels.hpp"

namespace autotune {
namespace {

constexpr std::int64_t kSide = 16;

constexpr const char* kHead = R"(
__device__ unsigned long long threads_seen;

extern "C" __global__ void planted(const float* a, const float* b, float* c, long long m,
                                   long long n, long long k, long long lda, long long ldb,
                                   long long ldc, float alpha, float beta, float*,
                                   unsigned) {
  const unsigned long long all = 256ull * gridDim.x * gridDim.y;
  long long launch_number = atomicAdd(&threads_seen, 1ull) / all;
  const long long row = blockIdx.y * 16ll + threadIdx.y;
  const long long column = blockIdx.x * 16ll + threadIdx.x;
  if (row >= m || column >= n) return;
  float result = 0;
  for (long long p = 0; p < k; ++p) result = fmaf(a[row * lda + p], b[p * ldb + column], result);
  bool skip = false;
)";

constexpr const char* kTail = R"(
  if (!skip) c[row * ldc + column] = beta == 0 ? alpha * result
                                               : fmaf(beta, c[row * ldc + column], alpha * result);
}
)";

}  // namespace

std::string planted_source(const std::string& fault) {
  return kHead + fault + kTail;
}

LaunchGeometry plain_geometry(const GemmProblem& problem) {
  LaunchGeometry geometry;
  geometry.grid = {(problem.n + kSide - 1) / kSide, (problem.m + kSide - 1) / kSide, 1};
  geometry.block = {kSide, kSide, 1};
  return geometry;
}

}  // namespace autotune
