// Reports each step of a kernel that is compiled for tracing (cpu/access_trace.hpp). The compiler
// then has each access call the thread sanitizer and each basic block the coverage sanitizer. Their
// functions are these; no sanitizer is linked.
#pragma once

#ifdef AUTOTUNE_TRACED

#if !defined(__GNUC__) || defined(__clang__) || !__has_attribute(no_sanitize_coverage)
#error memory accesses are traced with g++ 12 or newer
#endif
#define AUTOTUNE_UNTRACED __attribute__((no_sanitize("thread"), no_sanitize_coverage))

// The begin and the end of shared memory, by the linker's names.
extern "C" __attribute__((visibility("hidden"))) char __bss_start[], _end[];

AUTOTUNE_UNTRACED static void autotune_report(autotune_step step) {
  if (autotune_state.trace == nullptr) return;  // the code is being loaded
  step.is_shared = step.address >= __bss_start && step.address < _end;
  autotune_state.trace(autotune_state.tracer, step);
}

#define AUTOTUNE_STEP(function, kind, parameters, ...)                                             \
  extern "C" AUTOTUNE_UNTRACED void function parameters {                                          \
    autotune_report({autotune_step::kind, __builtin_return_address(0), __builtin_frame_address(1), \
                     __VA_ARGS__});                                                                \
  }
#define AUTOTUNE_ACCESS(bytes)                                             \
  AUTOTUNE_STEP(__tsan_read##bytes, read, (void* address), address, bytes) \
  AUTOTUNE_STEP(__tsan_write##bytes, write, (void* address), address, bytes)
AUTOTUNE_ACCESS(1)
AUTOTUNE_ACCESS(2)
AUTOTUNE_ACCESS(4)
AUTOTUNE_ACCESS(8)
AUTOTUNE_ACCESS(16)
AUTOTUNE_STEP(__tsan_read_range, read, (void* address, unsigned long bytes), address, bytes)
AUTOTUNE_STEP(__tsan_write_range, write, (void* address, unsigned long bytes), address, bytes)
AUTOTUNE_STEP(__sanitizer_cov_trace_pc, pass, ())
extern "C" AUTOTUNE_UNTRACED void __tsan_init() {}
extern "C" AUTOTUNE_UNTRACED void __tsan_func_entry(void*) {}
extern "C" AUTOTUNE_UNTRACED void __tsan_func_exit() {}
extern "C" AUTOTUNE_UNTRACED int __tsan_atomic32_fetch_add(volatile void* counter, int more, int) {
  int& value = *(int*)counter;
  return (value += more) - more;
}

// Kernels assume so of what one instruction moves.
template <typename Pointer>
AUTOTUNE_UNTRACED Pointer autotune_assume_aligned(Pointer address, unsigned long bytes) {
  autotune_report({autotune_step::whole, nullptr, nullptr, address, bytes});
  return address;
}
#define __builtin_assume_aligned(address, bytes) autotune_assume_aligned(address, bytes)

#endif
