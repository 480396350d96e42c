// The parts of CUDA C++ that portable kernels use, as C++. Put in front of a kernel's text, after
// block_state.hpp, when it is compiled for the CPU device. Anything missing here is a compile
// error that names it.

// Kernels find no headers of the C++ library here, as they find none with NVRTC.
#define __CUDACC_RTC__ 1

// Every thread of the operating system loads a copy of the kernel of its own and runs one block
// at a time in it, so shared memory is simply static.
#define __shared__ static
// No host writes to constant memory: it has its initial values.
#define __constant__
#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)

static autotune_block_state autotune_state;
extern "C" __attribute__((visibility("default"))) autotune_block_state* autotune_kernel_state() {
  return &autotune_state;
}

// Macros of a kernel are defined behind this text, so the words of CUDA name nothing that a kernel's
// parameter could be called.
static autotune_index& autotune_thread = autotune_state.thread;
static autotune_index& autotune_block = autotune_state.block;
static autotune_index& autotune_block_dim = autotune_state.block_dim;
static autotune_index& autotune_grid_dim = autotune_state.grid_dim;
#define threadIdx autotune_thread
#define blockIdx autotune_block
#define blockDim autotune_block_dim
#define gridDim autotune_grid_dim
// Behind it the compiler must take all shared memory for changed.
__forceinline__ void autotune_barrier(int line) {
  autotune_state.barrier(autotune_state.runner, line);
}
#define __syncthreads() autotune_barrier(__LINE__)

extern "C" float fmaf(float, float, float) noexcept;
extern "C" double fma(double, double, double) noexcept;
inline float fma(float a, float b, float c) {
  return fmaf(a, b, c);
}
extern "C" double fabs(double) noexcept;
inline float fabs(float value) {
  return __builtin_fabsf(value);
}
extern "C" double rint(double) noexcept;

inline unsigned __float_as_uint(float value) {
  return __builtin_bit_cast(unsigned, value);
}
inline float __uint_as_float(unsigned bits) {
  return __builtin_bit_cast(float, bits);
}
