// How a launch follows the one before it on its stream.

// Waits until the launch before has ended and what it wrote can be read. Kernels that begin so may
// be launched while the one before is still ending (LaunchGeometry::waits_for_launch_before): what
// a launch costs beside its work is then hidden, 0.2 to 0.3 us on an H200. No kernel may let the
// next one begin earlier (griddepcontrol.launch_dependents): loads by the read-only path count on
// memory that nobody writes while the kernel runs.
__device__ __forceinline__ void await_launch_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
