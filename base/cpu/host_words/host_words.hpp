// These are the words of CUDA C++ for a function of the host that the system's compiler compiles as a
// reference (own_kernels/host_code.hpp). Put in front of its text, before cuda_vectors.hpp and kernel_call.hpp
// of the prelude for kernels. Headers come first, so that no macro changes them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline

// nvcc has them without std:: too.
using std::max;
using std::min;

// LoadedKernel asks each image for the state of a block, which this code has none of.
struct autotune_block_state;
extern "C" __global__ autotune_block_state* autotune_kernel_state() {
  return nullptr;
}
