// How a launch follows the one before it on its stream.

// Waits until the launch before has ended and what it wrote can be read. Kernels of which every
// thread does so before it touches global memory may be launched while the one before is still
// ending (LaunchGeometry::waits_for_launch_before): what a launch costs beside its work is then
// hidden, 0.2 to 0.3 us on an H200. No kernel may let the next one begin earlier
// (griddepcontrol.launch_dependents): loads by the read-only path count on memory that nobody
// writes while the kernel runs.
//
// `positive` is what the kernel has computed by then: a number that is never less than 1, or there
// is no wait. Without it the compiler has the wait first, and all that comes before the first
// access to memory would begin only when the launch before has ended.
__device__ __forceinline__ void await_launch_before([[maybe_unused]] int positive) {
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
