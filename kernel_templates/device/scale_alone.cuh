// C = beta * C, where a kernel that multiplies finds an alpha of 0 in the device's memory.
#pragma once

#include "batch.cuh"
#include "element.cuh"
#include "grid_dependency.cuh"

namespace autotune_device {

// Returns whether there is nothing to multiply, so that C is scaled by beta and neither A nor B is
// read. A launch with alpha as a value multiplies. All threads of the grid call this first.
__device__ __forceinline__ bool scales_alone(
    [[maybe_unused]] Scalar alpha, [[maybe_unused]] Scalar beta, [[maybe_unused]] ElementC* c,
    [[maybe_unused]] long long m, [[maybe_unused]] long long n, [[maybe_unused]] long long k,
    [[maybe_unused]] long long ldc, [[maybe_unused]] const ProductBatch& products) {
#if SCALARS_IN_MEMORY
  griddep_wait(1);
  if (k > 0 && value_of(alpha) != Accumulator(0)) return false;
  const long long threads = static_cast<long long>(gridDim.x) * gridDim.y * blockDim.x * blockDim.y;
  const long long block = static_cast<long long>(blockIdx.y) * gridDim.x + blockIdx.x;
  const long long thread = (block * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  for (long long i = thread; i < products.count * m * n; i += threads) {
    ElementC* const to = products.c(c, static_cast<unsigned>(i / (m * n)));
    store_result(to + i / n % m * ldc + i % n, Accumulator(0), value_of(beta));
  }
  return true;
#else
  return false;
#endif
}

}  // namespace autotune_device
