// Programmatic stream serialization: a launch that begins while the launch before it ends.
#pragma once

namespace autotune_device {

// Waits until the previous launch on the stream has ended and its writes are visible. A kernel
// whose threads all call this before they access global memory may be launched while the previous
// launch is still ending (LaunchGeometry::waits_for_launch_before), which hides 0.2 to 0.3 us of
// launch latency on an H200. A kernel may not release the next launch early
// (griddepcontrol.launch_dependents), because loads through the read-only path require that nobody
// writes the memory meanwhile. The preparation of planes alone does (split_operands() in
// split_planes.cuh): kernels that read what it writes do so on other paths.
//
// `positive` must be at least 1, or there is no wait. Pass values that the kernel computes before
// its first access: the compiler then keeps their computation ahead of the wait, where it overlaps
// with the previous launch.
__device__ __forceinline__ void griddep_wait([[maybe_unused]] int positive) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n"
      ".reg .pred ready;\n"
      "setp.gt.s32 ready, %0, 0;\n"
      "@ready griddepcontrol.wait;\n"
      "}" ::"r"(positive)
      : "memory");
#endif
}

}  // namespace autotune_device
