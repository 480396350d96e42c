// BF16 products on Hopper: C = A * B^T, A row-major MxK, B row-major NxK, FP32 sums, C BF16.
// (a) wide: wgmma tiles, cooperative and ping-pong. (b) narrow: weights' rows are wgmma's M, K is split
// in a cluster. (c) stream: no tensor cores, for M <= 4. A harness checks them, and times them by
// turns with cublasLt.
// Build: nvcc -gencode arch=compute_90a,code=sm_90a -std=c++17 -O3 -o trial bf16_trial.cu -lcublasLt
// Run:   ./trial [-v] [--extra] [--only TEXT] [--shape MxNxK] [--seconds 110]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <cublasLt.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

using bf16 = __nv_bfloat16;

// ---------------------------------------------------------------- device: barriers, TMA, wgmma
__device__ __forceinline__ uint32_t smem_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ __forceinline__ uint32_t cluster_address(uint32_t own, uint32_t block) {
  uint32_t a;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(own), "r"(block));
  return a;
}
__device__ __forceinline__ void init_barrier(uint32_t bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void arrive(uint32_t bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}
__device__ __forceinline__ void arrive_remote(uint32_t bar, uint32_t block) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(cluster_address(bar, block))
               : "memory");
}
__device__ __forceinline__ void arrive_expect(uint32_t bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ bool try_wait(uint32_t bar, uint32_t parity) {
  uint32_t over;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(over)
      : "r"(bar), "r"(parity)
      : "memory");
  return over != 0;
}
// A wait that lasts longer than about a second traps: a fault must not hang the GPU.
__device__ __forceinline__ void wait_barrier(uint32_t bar, uint32_t parity) {
  if (try_wait(bar, parity)) return;
  const uint32_t start = static_cast<uint32_t>(clock64() >> 16);
  while (!try_wait(bar, parity)) {
    if (static_cast<uint32_t>(clock64() >> 16) - start > 30000u) __trap();
  }
}
// It does not make writes visible: a release would wait for accesses of global memory too. See
// release_shared() and fence_barrier_init().
template <int kCluster>
__device__ __forceinline__ void cluster_sync() {
  if constexpr (kCluster > 1) {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
  } else {
    __syncthreads();
  }
}
__device__ __forceinline__ void release_shared() {
  asm volatile("fence.release.sync_restrict::shared::cta.cluster;" ::: "memory");
}
__device__ __forceinline__ void tma_load(uint32_t to, const CUtensorMap& map, int column, int row,
                                         uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(bar)
      : "memory");
}
__device__ __forceinline__ void tma_load_hint(uint32_t to, const CUtensorMap& map, int column,
                                              int row, uint32_t bar, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(bar), "l"(policy)
      : "memory");
}
__device__ __forceinline__ void tma_load_multicast(uint32_t to, const CUtensorMap& map, int column,
                                                   int row, uint32_t bar, uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
      "cluster"
      " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(bar), "h"(mask)
      : "memory");
}
__device__ __forceinline__ void tma_store(const CUtensorMap& map, uint32_t from, int column,
                                          int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
      "r"(column), "r"(row), "r"(from)
      : "memory");
}
__device__ __forceinline__ void prefetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
template <int kId>
__device__ __forceinline__ void group_sync(int group) {  // of the 128 threads of a warp group
  asm volatile("bar.sync %0, 128;" ::"r"(kId + group) : "memory");
}
// Rows of 64 BF16 (128 bytes) along K, swizzled by 128 bytes, from a multiple of 1024 bytes on: layout
// type 1 (bits 62-63), 1024 bytes from 8 rows to the next 8 (bits 32-45).
__device__ __forceinline__ uint64_t descriptor(uint32_t address) {
  return 1ull << 62 | static_cast<uint64_t>(1024 / 16) << 32 | 1ull << 16 |
         (address & 0x3ffff) >> 4;
}
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
template <int kCount>
__device__ __forceinline__ void pin(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// four(): d = (adds ? d : 0) + 64 rows times N columns over 64 of K. Thread t of the warp group has, in
// d[4 i + {0, 1}], row t / 32 * 16 + t % 32 / 4 and columns 8 i + t % 4 * 2 + {0, 1}; in d[4 i + {2, 3}]
// those of the row 8 below.
template <int N>
struct Wgmma;
template <>
struct Wgmma<16> {
  static __device__ __forceinline__ void four(float (&d)[8], uint64_t a, uint64_t b, int adds) {
    asm volatile(
        "{\n.reg .pred p;\n.reg .b64 a, b;\n"
        "setp.ne.b32 p, %10, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7 "
        "}, %8, %9, p, 1, 1, 0, 0;\n"
        "add.s64 a, %8, 2;\nadd.s64 b, %9, 2;\n"
        "setp.eq.b32 p, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "add.s64 a, %8, 4;\nadd.s64 b, %9, 4;\n"
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "add.s64 a, %8, 6;\nadd.s64 b, %9, 6;\n"
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7])
        : "l"(a), "l"(b), "r"(adds));
  }
};

template <>
struct Wgmma<32> {
  static __device__ __forceinline__ void four(float (&d)[16], uint64_t a, uint64_t b, int adds) {
    asm volatile(
        "{\n.reg .pred p;\n.reg .b64 a, b;\n"
        "setp.ne.b32 p, %18, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15 "
        "}, %16, %17, p, 1, 1, 0, 0;\n"
        "add.s64 a, %16, 2;\nadd.s64 b, %17, 2;\n"
        "setp.eq.b32 p, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "add.s64 a, %16, 4;\nadd.s64 b, %17, 4;\n"
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "add.s64 a, %16, 6;\nadd.s64 b, %17, 6;\n"
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15])
        : "l"(a), "l"(b), "r"(adds));
  }
};

template <>
struct Wgmma<64> {
  static __device__ __forceinline__ void four(float (&d)[32], uint64_t a, uint64_t b, int adds) {
    asm volatile(
        "{\n.reg .pred p;\n.reg .b64 a, b;\n"
        "setp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31 "
        "}, %32, %33, p, 1, 1, 0, 0;\n"
        "add.s64 a, %32, 2;\nadd.s64 b, %33, 2;\n"
        "setp.eq.b32 p, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "add.s64 a, %32, 4;\nadd.s64 b, %33, 4;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "add.s64 a, %32, 6;\nadd.s64 b, %33, 6;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b), "r"(adds));
  }
};

template <>
struct Wgmma<128> {
  static __device__ __forceinline__ void four(float (&d)[64], uint64_t a, uint64_t b, int adds) {
    asm volatile(
        "{\n.reg .pred p;\n.reg .b64 a, b;\n"
        "setp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63 "
        "}, %64, %65, p, 1, 1, 0, 0;\n"
        "add.s64 a, %64, 2;\nadd.s64 b, %65, 2;\n"
        "setp.eq.b32 p, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "add.s64 a, %64, 4;\nadd.s64 b, %65, 4;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "add.s64 a, %64, 6;\nadd.s64 b, %65, 6;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
          "+f"(d[63])
        : "l"(a), "l"(b), "r"(adds));
  }
};

template <>
struct Wgmma<256> {
  static __device__ __forceinline__ void four(float (&d)[128], uint64_t a, uint64_t b, int adds) {
    asm volatile(
        "{\n.reg .pred p;\n.reg .b64 a, b;\n"
        "setp.ne.b32 p, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "
        "%111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "
        "%127 "
        "}, %128, %129, p, 1, 1, 0, 0;\n"
        "add.s64 a, %128, 2;\nadd.s64 b, %129, 2;\n"
        "setp.eq.b32 p, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "
        "%111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "
        "%127 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "add.s64 a, %128, 4;\nadd.s64 b, %129, 4;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "
        "%111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "
        "%127 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "add.s64 a, %128, 6;\nadd.s64 b, %129, 6;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "
        "%111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "
        "%127 "
        "}, a, b, p, 1, 1, 0, 0;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
          "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]),
          "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]),
          "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
          "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]),
          "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]),
          "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
          "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]),
          "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]),
          "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]),
          "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
        : "l"(a), "l"(b), "r"(adds));
  }
};

// ---------------------------------------------------------------- (a) wide
// BM x BN: the tile of a block (cooperative: each of two warp groups has BM / 2 rows) or, with PP, of a warp
// group (the groups take tiles in turn). CL blocks of a cluster are neighbours along M and share B.
template <int BM, int BN, int ST, int CL, bool PP>
struct Wide {
  static constexpr int kBk = 64;
  static constexpr int kMw = PP ? BM / 64 : BM / 128;  // 64-row pieces of a warp group
  static constexpr int kA = BM * 128, kB = BN * 128, kStage = kA + kB;
  static constexpr int kPiece = 64 * 128;  // 64 rows x 64 columns of C
  static constexpr int kSmem = ST * kStage + 4 * kPiece + 1024;
  static constexpr int kThreads = 384;
  static_assert(kSmem <= 232448 - 1024, "");
  static_assert(BM <= 256 && BN / CL <= 256 && BN / CL % 8 == 0, "");
};

struct Tiles {
  int along_m, along_n, total;
  __device__ __forceinline__ Tiles(int m, int n, int tile_m, int tile_n)
      : along_m((m + tile_m - 1) / tile_m),
        along_n((n + tile_n - 1) / tile_n),
        total(along_m * along_n) {}
  // In groups of 8 along M, which walk along N.
  __device__ __forceinline__ void place(int t, int& m, int& n) const {
    const int group = t / (8 * along_n), in = t - group * 8 * along_n;
    const int rows = min(8, along_m - group * 8);
    n = in / rows;
    m = group * 8 + in - n * rows;
  }
};

template <int BM, int BN, int ST, int CL, bool PP>
__global__ void __launch_bounds__(384, 1)
    wide_kernel(const __grid_constant__ CUtensorMap map_a,
                const __grid_constant__ CUtensorMap map_b,
                const __grid_constant__ CUtensorMap map_c, int m, int n, int k) {
  using W = Wide<BM, BN, ST, CL, PP>;
  extern __shared__ unsigned char raw[];
  __shared__ __align__(8) uint64_t bars[2 * ST + 2];
  const uint32_t base = (smem_address(raw) + 1023) & ~1023u;
  const uint32_t full = smem_address(bars), empty = full + 8 * ST, order = empty + 8 * ST;
  const int group = __shfl_sync(~0u, static_cast<int>(threadIdx.x / 128), 0);
  const int rank = CL > 1 ? blockIdx.x % CL : 0, first = blockIdx.x / CL, clusters = gridDim.x / CL;
  const Tiles tiles(m, n, BM * CL, BN);
  const int k_tiles = (k + 63) / 64;
  if (threadIdx.x == 0) {
    for (int i = 0; i < ST; ++i) {
      init_barrier(full + 8 * i, 1);
      init_barrier(empty + 8 * i,
                   CL * (PP ? 4 : 8));  // a lane of each consumer warp of the cluster
    }
    init_barrier(order, 4);
    init_barrier(order + 8, 4);
    fence_barrier_init();
  }
  cluster_sync<CL>();

  if (group == 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 256) {
      prefetch_map(map_a);
      prefetch_map(map_b);
      prefetch_map(map_c);
      int stage = 0;
      uint32_t parity = 0;
      for (int t = first; t < tiles.total; t += clusters) {
        int tm, tn;
        tiles.place(t, tm, tn);
        const int row = (tm * CL + rank) * BM, column = tn * BN + rank * (BN / CL);
#pragma unroll 1
        for (int kt = 0; kt < k_tiles; ++kt) {
          const uint32_t a = base + stage * W::kStage, b = a + W::kA + rank * (W::kB / CL),
                         bar = full + 8 * stage;
          wait_barrier(empty + 8 * stage, parity ^ 1);
          arrive_expect(bar, W::kStage);
          tma_load(a, map_a, kt * 64, row, bar);
          if constexpr (CL > 1) {
            tma_load_multicast(b, map_b, kt * 64, column, bar,
                               static_cast<uint16_t>((1 << CL) - 1));
          } else {
            tma_load(b, map_b, kt * 64, column, bar);
          }
          if (++stage == ST) stage = 0, parity ^= 1;
        }
      }
      // The other block's consumers still arrive here.
      for (int i = 0; i < ST; ++i) {
        wait_barrier(empty + 8 * stage, parity ^ 1);
        if (++stage == ST) stage = 0, parity ^= 1;
      }
    }
    __syncwarp();
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const uint32_t staging = base + ST * W::kStage + group * 2 * W::kPiece;
    const auto release = [&](int stage) {
      if (lane < CL) {
        if constexpr (CL > 1) {
          arrive_remote(empty + 8 * stage, lane);
        } else {
          arrive(empty + 8 * stage);
        }
      }
    };
    // Where this lane writes with stmatrix: a row of the warp's 16, and one of two vectors side by side.
    const int st_row = lane / 8 % 2 * 8 + lane % 8, st_vector = lane / 16;
    const uint32_t st_to = staging + (warp * 16 + st_row) * 128;
    int piece = 0, stage = 0, done = 0;
    uint32_t parity = 0;
#pragma unroll 1
    for (int i = PP ? group : 0;; i += PP ? 2 : 1) {
      const int t = first + i * clusters;
      if (t >= tiles.total) break;
      int tm, tn;
      tiles.place(t, tm, tn);
      if constexpr (PP) {
        const int at = i * k_tiles;
        stage = at % ST;
        parity = at / ST & 1;
        wait_barrier(order + 8 * group, group == 0 ? (done & 1) ^ 1 : done & 1);
        ++done;
      }
      float d[W::kMw][BN / 2];
#pragma unroll
      for (int w = 0; w < W::kMw; ++w) pin(d[w]);
      int before = 0;
#pragma unroll 1
      for (int kt = 0; kt < k_tiles; ++kt) {
        wait_barrier(full + 8 * stage, parity);
        const uint32_t a = base + stage * W::kStage + (PP ? 0 : group * W::kMw * 8192),
                       b = base + stage * W::kStage + W::kA;
        wgmma_fence();
#pragma unroll
        for (int w = 0; w < W::kMw; ++w)
          Wgmma<BN>::four(d[w], descriptor(a + w * 8192), descriptor(b), kt > 0);
        wgmma_commit();
        wgmma_wait<1>();
        if (kt > 0) release(before);
        before = stage;
        if (++stage == ST) stage = 0, parity ^= 1;
      }
      if constexpr (PP) {
        if (lane == 0) arrive(order + 8 * (group ^ 1));  // its instructions queue behind these
      }
      wgmma_wait<0>();
#pragma unroll
      for (int w = 0; w < W::kMw; ++w) pin(d[w]);
      release(before);

      const int row = (tm * CL + rank) * BM + (PP ? 0 : group * W::kMw * 64), column = tn * BN;
#pragma unroll
      for (int w = 0; w < W::kMw; ++w) {
#pragma unroll
        for (int c = 0; c < BN / 64; ++c) {
          // The store before the last one has read this buffer.
          if (threadIdx.x % 128 == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
          group_sync<1>(group);
#pragma unroll
          for (int v = 0; v < 8; v += 2) {
            uint32_t r[4];
#pragma unroll
            for (int e = 0; e < 4; ++e) {
              const float* from = d[w] + (c * 8 + v) * 4 + e * 2;
              const __nv_bfloat162 two = __floats2bfloat162_rn(from[0], from[1]);
              r[e] = *reinterpret_cast<const uint32_t*>(&two);
            }
            const uint32_t to = st_to + piece * W::kPiece + (((v + st_vector) ^ (st_row & 7)) << 4);
            asm volatile(
                "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                : "memory");
          }
          fence_proxy_async();
          group_sync<3>(group);
          if (threadIdx.x % 128 == 0) {
            tma_store(map_c, staging + piece * W::kPiece, column + c * 64, row + w * 64);
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
          }
          piece ^= 1;
        }
      }
    }
    if (threadIdx.x % 128 == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    __syncwarp();
  }
  cluster_sync<CL>();
}

// ---------------------------------------------------------------- (b) narrow
// A block multiplies 64 rows of B (wgmma's M) by MB rows of A (wgmma's N) over a part of K; the CL blocks of a
// cluster have the parts of a tile and add them, in the order of K, through their shared memory.
template <int MB, int ST>
struct Narrow {
  static constexpr int kW = 64 * 256, kX = MB * 256, kStage = kW + kX;  // 128 of K
  static constexpr int kLd = 68;  // floats from one row of A to the next in the exchanged sums
  static constexpr int kSmem = ST * kStage + 1024;
  static_assert(4 * MB * kLd <= ST * kStage && kSmem <= 232448 - 512, "");
};

template <int MB, int ST, int CL>
__global__ void __launch_bounds__(160) narrow_kernel(const __grid_constant__ CUtensorMap map_x,
                                                     const __grid_constant__ CUtensorMap map_w,
                                                     bf16* __restrict__ c, int m, int n, int k) {
  using S = Narrow<MB, ST>;
  extern __shared__ unsigned char raw[];
  __shared__ __align__(8) uint64_t bars[2 * ST];
  const uint32_t base = (smem_address(raw) + 1023) & ~1023u;
  const uint32_t full = smem_address(bars), empty = full + 8 * ST;
  const int rank = CL > 1 ? blockIdx.x % CL : 0, tile = blockIdx.x / CL;
  const int k_tiles = (k + 127) / 128, begin = k_tiles * rank / CL, end = k_tiles * (rank + 1) / CL;
  if (threadIdx.x == 0) {
    for (int i = 0; i < ST; ++i) {
      init_barrier(full + 8 * i, 1);
      init_barrier(empty + 8 * i, 4);
    }
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      uint64_t once;
      asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(once));
      int stage = 0;
      uint32_t parity = 0;
#pragma unroll 1
      for (int kt = begin; kt < end; ++kt) {
        const uint32_t w = base + stage * S::kStage, x = w + S::kW, bar = full + 8 * stage;
        wait_barrier(empty + 8 * stage, parity ^ 1);
        arrive_expect(bar, S::kStage);
        tma_load_hint(w, map_w, kt * 128, tile * 64, bar, once);
        tma_load_hint(w + 8192, map_w, kt * 128 + 64, tile * 64, bar, once);
        tma_load(x, map_x, kt * 128, 0, bar);
        tma_load(x + MB * 128, map_x, kt * 128 + 64, 0, bar);
        if (++stage == ST) stage = 0, parity ^= 1;
      }
    }
    __syncwarp();
    cluster_sync<CL>();
  } else {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float d[MB / 2];
#pragma unroll
    for (int i = 0; i < MB / 2; ++i) d[i] = 0;
    pin(d);
    int stage = 0, before = 0;
    uint32_t parity = 0;
#pragma unroll 1
    for (int kt = begin; kt < end; ++kt) {
      wait_barrier(full + 8 * stage, parity);
      const uint32_t w = base + stage * S::kStage, x = w + S::kW;
      wgmma_fence();
      Wgmma<MB>::four(d, descriptor(w), descriptor(x), 1);
      Wgmma<MB>::four(d, descriptor(w + 8192), descriptor(x + MB * 128), 1);
      wgmma_commit();
      wgmma_wait<1>();
      if (kt > begin && lane == 0) arrive(empty + 8 * before);
      before = stage;
      if (++stage == ST) stage = 0, parity ^= 1;
    }
    wgmma_wait<0>();
    pin(d);
    group_sync<1>(0);  // all warps have read the stages, which the sums now take
    float* const sums = reinterpret_cast<float*>(raw + (base - smem_address(raw)));
    const int of_n = warp * 16 + lane / 4, of_m = lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < MB / 2; ++i) {
      sums[(i / 4 * 8 + of_m + i % 2) * S::kLd + of_n + i / 2 % 2 * 8] = d[i];
    }
    if (CL > 1) release_shared();
    cluster_sync<CL>();
    constexpr int kRows = 64 / CL, kVectors = kRows / 4;
    const uint32_t own = base;
    for (int item = threadIdx.x; item < MB * kVectors; item += 128) {
      const int at_m = item / kVectors, at_n = rank * kRows + item % kVectors * 4;
      const uint32_t from = own + 4 * (at_m * S::kLd + at_n);
      float4 all = {0, 0, 0, 0};
#pragma unroll
      for (int block = 0; block < CL; ++block) {
        float4 part;
        const uint32_t at = CL > 1 ? cluster_address(from, block) : from;
        if constexpr (CL > 1) {
          asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                       : "=f"(part.x), "=f"(part.y), "=f"(part.z), "=f"(part.w)
                       : "r"(at)
                       : "memory");
        } else {
          asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                       : "=f"(part.x), "=f"(part.y), "=f"(part.z), "=f"(part.w)
                       : "r"(at)
                       : "memory");
        }
        all.x += part.x, all.y += part.y, all.z += part.z, all.w += part.w;
      }
      const int to_n = tile * 64 + at_n;
      if (at_m < m && to_n < n) {  // n is a multiple of 4
        const __nv_bfloat162 low = __floats2bfloat162_rn(all.x, all.y),
                             high = __floats2bfloat162_rn(all.z, all.w);
        uint2 v;
        v.x = *reinterpret_cast<const uint32_t*>(&low),
        v.y = *reinterpret_cast<const uint32_t*>(&high);
        *reinterpret_cast<uint2*>(c + static_cast<long long>(at_m) * n + to_n) = v;
      }
    }
    __syncwarp();
  }
  if (CL > 1) {
    __syncwarp();
    cluster_sync<CL>();  // others may still read this block's sums
  }
}

// ---------------------------------------------------------------- (c) stream
__device__ __forceinline__ uint4 load_once(const bf16* from) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}
__device__ __forceinline__ void unpack(const uint4& v, float (&f)[8]) {
  const uint32_t w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    f[2 * i] = __uint_as_float(w[i] << 16);
    f[2 * i + 1] = __uint_as_float(w[i] & 0xffff0000u);
  }
}
// A warp multiplies R rows of B by M rows of A over one of SK parts of K, with U vectors of each row in flight.
template <int M, int R, int WARPS, int SK, int U>
__global__ void __launch_bounds__(WARPS * 32, 2)
    stream_kernel(const bf16* __restrict__ x, const bf16* __restrict__ w, bf16* __restrict__ c,
                  int m, int n, int k) {
  constexpr int kGroups = WARPS / SK;
  __shared__ float parts[WARPS][M * R];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, part = warp % SK;
  const int row = (blockIdx.x * kGroups + warp / SK) * R;
  const bf16* from[R];
#pragma unroll
  for (int r = 0; r < R; ++r) from[r] = w + static_cast<long long>(min(row + r, n - 1)) * k;
  float sums[M][R] = {};
#pragma unroll 1
  for (int at = (part * 32 + lane) * 8; at < k; at += SK * 256 * U) {
    uint4 wv[U][R];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const int kk = at + u * SK * 256;
#pragma unroll
      for (int r = 0; r < R; ++r) {
        wv[u][r] = make_uint4(0, 0, 0, 0);
        if (kk < k) wv[u][r] = load_once(from[r] + kk);
      }
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const int kk = at + u * SK * 256;
      if (kk >= k) break;
      float xf[M][8];
#pragma unroll
      for (int i = 0; i < M; ++i) {
        unpack(__ldg(reinterpret_cast<const uint4*>(x + static_cast<long long>(min(i, m - 1)) * k +
                                                    kk)),
               xf[i]);
      }
#pragma unroll
      for (int r = 0; r < R; ++r) {
        float wf[8];
        unpack(wv[u][r], wf);
#pragma unroll
        for (int e = 0; e < 8; ++e) {
#pragma unroll
          for (int i = 0; i < M; ++i) sums[i][r] = fmaf(wf[e], xf[i][e], sums[i][r]);
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < M; ++i) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      float s = sums[i][r];
#pragma unroll
      for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(~0u, s, o);
      if (lane == 0) parts[warp][i * R + r] = s;
    }
  }
  __syncthreads();
  for (int t = threadIdx.x; t < kGroups * M * R; t += WARPS * 32) {
    const int group = t / (M * R), e = t % (M * R), i = e / R;
    const int at_n = (blockIdx.x * kGroups + group) * R + e % R;
    float s = 0;
#pragma unroll
    for (int p = 0; p < SK; ++p) s += parts[group * SK + p][e];
    if (i < m && at_n < n) c[static_cast<long long>(i) * n + at_n] = __float2bfloat16(s);
  }
}

// ---------------------------------------------------------------- reference, data, check
// 64 x 64 of C by 256 threads, FP64 sums.
__global__ void __launch_bounds__(256)
    reference_kernel(const bf16* a, const bf16* b, double* c, int m, int n, int k) {
  __shared__ double sa[16][65], sb[16][65];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int row = blockIdx.y * 64, column = blockIdx.x * 64;
  double s[4][4] = {};
  for (int k0 = 0; k0 < k; k0 += 16) {
    for (int e = threadIdx.x; e < 1024; e += 256) {
      const int kk = e % 16, r = e / 16;
      sa[kk][r] = row + r < m && k0 + kk < k
                      ? __bfloat162float(a[static_cast<long long>(row + r) * k + k0 + kk])
                      : 0;
      sb[kk][r] = column + r < n && k0 + kk < k
                      ? __bfloat162float(b[static_cast<long long>(column + r) * k + k0 + kk])
                      : 0;
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 16; ++kk) {
      double x[4], y[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) x[i] = sa[kk][ty + 16 * i], y[i] = sb[kk][tx + 16 * i];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) s[i][j] = fma(x[i], y[j], s[i][j]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int r = row + ty + 16 * i, q = column + tx + 16 * j;
      if (r < m && q < n) c[static_cast<long long>(r) * n + q] = s[i][j];
    }
  }
}
__device__ __forceinline__ uint32_t mix(uint64_t x) {
  x ^= x >> 30, x *= 0xbf58476d1ce4e5b9ull, x ^= x >> 27, x *= 0x94d049bb133111ebull, x ^= x >> 31;
  return static_cast<uint32_t>(x);
}
// Uniform in (-1, 1), rounded to BF16: all bits of the mantissa are random.
__global__ void fill_kernel(bf16* p, long long count, uint64_t seed) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    p[i] = __float2bfloat16(
        static_cast<float>(static_cast<int32_t>(mix((i + 1) * 0x9e3779b97f4a7c15ull + seed))) *
        (1.0f / 2147483648.0f));
  }
}
struct Verdict {
  unsigned long long bad, guard;
  double error2, norm2;
  unsigned worst;  // bits of the largest |error| / bound, a float
};
// Bound of an element: the rounding to BF16 (2^-9 of it, and 5 % more), and 2^-18 of the mean sum of |a||b|, which
// is k / 4, for the tensor cores' FP32 sums.
__global__ void check_kernel(const bf16* c, const double* reference, long long count,
                             long long guard, double slack, Verdict* v) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  double error2 = 0, norm2 = 0;
  float worst = 0;
  unsigned long long bad = 0, hurt = 0;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count + guard; i += stride) {
    if (i >= count) {
      hurt += reinterpret_cast<const uint16_t*>(c)[i] != 0xffff;
      continue;
    }
    const double r = reference[i], e = fabs(static_cast<double>(__bfloat162float(c[i])) - r);
    const float part = static_cast<float>(e / (fabs(r) * (1.05 / 256) + slack));
    if (!(part <= 1)) ++bad;
    if (part == part) worst = fmaxf(worst, part), error2 += e * e;
    norm2 += r * r;
  }
  atomicAdd(&v->bad, bad);
  atomicAdd(&v->guard, hurt);
  atomicAdd(&v->error2, error2);
  atomicAdd(&v->norm2, norm2);
  atomicMax(&v->worst, __float_as_uint(worst));
}
// ---------------------------------------------------------------- host
#define CHECK(call)                                                           \
  do {                                                                        \
    const cudaError_t error_ = (call);                                        \
    if (error_ != cudaSuccess) {                                              \
      say("E %s: %s (line %d)", #call, cudaGetErrorString(error_), __LINE__); \
      _exit(3);                                                               \
    }                                                                         \
  } while (0)

int g_pipe = 1;  // of a child: the parent reads lines from it
template <typename... T>
void say(const char* format, T... values) {
  char line[600];
  int length = snprintf(line, sizeof line - 1, format, values...);
  length = std::min(length, static_cast<int>(sizeof line) - 2);
  line[length] = '\n';
  if (write(g_pipe, line, length + 1) < 0) _exit(4);
}
double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

struct Shape {
  int m, n, k;
  std::string name() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  }
};
struct Operands {
  bf16 *a, *b, *c;
};

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                            CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                            CUtensorMapFloatOOBfill);
// Boxes of box_rows x 64 elements, swizzled by 128 bytes.
CUtensorMap tensor_map(const bf16* p, int rows, int columns, int box_rows) {
  static const Encode encode =
      reinterpret_cast<Encode>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuTensorMapEncodeTiled"));
  CUtensorMap map;
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[1] = {2 * sizes[0]};
  const cuuint32_t box[2] = {64, static_cast<cuuint32_t>(box_rows)}, steps[2] = {1, 1};
  const CUresult r =
      encode
          ? encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<bf16*>(p), sizes, strides,
                   box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
          : CUDA_ERROR_NOT_FOUND;
  if (r != CUDA_SUCCESS) {
    say("E cuTensorMapEncodeTiled %dx%d box %d: error %d", rows, columns, box_rows,
        static_cast<int>(r));
    _exit(3);
  }
  return map;
}

using Launch = std::function<cudaError_t(const Shape&, const Operands&, cudaStream_t)>;
struct Variant {
  std::string name;
  std::function<bool(const Shape&)> fits;
  const void* kernel;
  Launch launch;
};

cudaLaunchConfig_t config(cudaLaunchAttribute* cluster, int blocks, int threads, int smem, int size,
                          cudaStream_t s) {
  cudaLaunchConfig_t c = {};
  c.gridDim = dim3(blocks), c.blockDim = dim3(threads), c.dynamicSmemBytes = smem, c.stream = s;
  cluster->id = cudaLaunchAttributeClusterDimension;
  cluster->val.clusterDim = {static_cast<unsigned>(size), 1, 1};
  c.attrs = cluster, c.numAttrs = size > 1 ? 1 : 0;
  return c;
}

template <int BM, int BN, int ST, int CL, bool PP>
Variant wide() {
  using W = Wide<BM, BN, ST, CL, PP>;
  const auto kernel = wide_kernel<BM, BN, ST, CL, PP>;
  Variant v;
  v.name = std::string(PP ? "pingpong " : "coop ") + std::to_string(BM) + "x" + std::to_string(BN) +
           "x64 s" + std::to_string(ST) + " c" + std::to_string(CL);
  v.fits = [](const Shape& s) { return s.m > 64; };
  v.kernel = reinterpret_cast<const void*>(kernel);
  v.launch = [kernel](const Shape& s, const Operands& o, cudaStream_t stream) {
    static int most = 0;  // clusters
    cudaLaunchAttribute attribute;
    cudaError_t e = cudaSuccess;
    if (most == 0) {
      e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, W::kSmem);
      if (e != cudaSuccess) return e;
      if (CL == 1) {
        e = cudaDeviceGetAttribute(&most, cudaDevAttrMultiProcessorCount, 0);
      } else {
        const auto c = config(&attribute, 2 * CL, W::kThreads, W::kSmem, CL, 0);
        e = cudaOccupancyMaxActiveClusters(&most, kernel, &c);
      }
      if (e != cudaSuccess) return e;
      if (most < 1) return cudaErrorLaunchOutOfResources;
    }
    const int tiles = (s.m + BM * CL - 1) / (BM * CL) * ((s.n + BN - 1) / BN);
    const auto c =
        config(&attribute, std::min(most, tiles) * CL, W::kThreads, W::kSmem, CL, stream);
    return cudaLaunchKernelEx(&c, kernel, tensor_map(o.a, s.m, s.k, BM),
                              tensor_map(o.b, s.n, s.k, BN / CL), tensor_map(o.c, s.m, s.n, 64),
                              s.m, s.n, s.k);
  };
  return v;
}

template <int MB, int ST, int CL>
Variant narrow() {
  using S = Narrow<MB, ST>;
  const auto kernel = narrow_kernel<MB, ST, CL>;
  Variant v;
  v.name =
      "narrow n" + std::to_string(MB) + " s" + std::to_string(ST) + " split" + std::to_string(CL);
  v.fits = [](const Shape& s) { return s.m <= MB && (s.m > MB / 2 || MB == 16) && s.n % 4 == 0; };
  v.kernel = reinterpret_cast<const void*>(kernel);
  v.launch = [kernel](const Shape& s, const Operands& o, cudaStream_t stream) {
    static bool ready = false;
    cudaLaunchAttribute attribute;
    if (!ready) {
      cudaError_t e =
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kSmem);
      if (e == cudaSuccess && CL > 8)
        e = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
      if (e != cudaSuccess) return e;
      ready = true;
    }
    const auto c = config(&attribute, (s.n + 63) / 64 * CL, 160, S::kSmem, CL, stream);
    return cudaLaunchKernelEx(&c, kernel, tensor_map(o.a, s.m, s.k, MB),
                              tensor_map(o.b, s.n, s.k, 64), o.c, s.m, s.n, s.k);
  };
  return v;
}

template <int M, int R, int WARPS, int SK, int U>
Variant stream() {
  const auto kernel = stream_kernel<M, R, WARPS, SK, U>;
  Variant v;
  v.name = "stream m" + std::to_string(M) + " r" + std::to_string(R) + " w" +
           std::to_string(WARPS) + " split" + std::to_string(SK) + " u" + std::to_string(U);
  v.fits = [](const Shape& s) { return s.m <= M && (M == 1 || s.m > 1) && s.k % 8 == 0; };
  v.kernel = reinterpret_cast<const void*>(kernel);
  v.launch = [kernel](const Shape& s, const Operands& o, cudaStream_t stream) {
    constexpr int kRows = R * WARPS / SK;
    kernel<<<(s.n + kRows - 1) / kRows, WARPS * 32, 0, stream>>>(o.a, o.b, o.c, s.m, s.n, s.k);
    return cudaGetLastError();
  };
  return v;
}

template <int M>
void add_streams(std::vector<Variant>& v) {
  v.push_back(stream<M, 1, 8, 8, 2>());
  v.push_back(stream<M, 1, 4, 4, 4>());
  v.push_back(stream<M, 2, 4, 4, 2>());
  v.push_back(stream<M, 2, 4, 2, 4>());
  v.push_back(stream<M, 2, 8, 1, 4>());
  v.push_back(stream<M, 4, 4, 4, 2>());
  v.push_back(stream<M, 4, 8, 2, 2>());
}
template <int MB, int FEW, int MANY>
void add_narrows(std::vector<Variant>& v) {
  v.push_back(narrow<MB, FEW, 1>());
  v.push_back(narrow<MB, FEW, 2>());
  v.push_back(narrow<MB, FEW, 4>());
  v.push_back(narrow<MB, FEW, 8>());
  v.push_back(narrow<MB, MANY, 1>());
  v.push_back(narrow<MB, MANY, 2>());
  v.push_back(narrow<MB, MANY, 4>());
  v.push_back(narrow<MB, FEW, 16>());
}
std::vector<Variant> all_variants() {
  std::vector<Variant> v;
  v.push_back(wide<128, 256, 4, 2, false>());
  v.push_back(wide<128, 128, 4, 2, false>());
  v.push_back(wide<128, 256, 4, 1, false>());
  v.push_back(wide<128, 128, 6, 1, false>());
  v.push_back(wide<128, 64, 6, 2, false>());
  v.push_back(wide<128, 128, 6, 2, true>());
  v.push_back(wide<64, 256, 4, 2, true>());
  add_streams<1>(v);
  add_streams<4>(v);
  add_narrows<16, 5, 8>(v);
  add_narrows<32, 4, 8>(v);
  add_narrows<64, 3, 6>(v);
  return v;
}

// ---------------------------------------------------------------- timing
struct Graph {
  cudaGraphExec_t exec = nullptr;
  int launches = 0;
  cudaError_t build(int count, const std::function<cudaError_t(int)>& launch, cudaStream_t s) {
    launches = count;
    cudaError_t e = cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
    if (e != cudaSuccess) return e;
    for (int i = 0; i < count && e == cudaSuccess; ++i) e = launch(i);
    cudaGraph_t graph = nullptr;
    const cudaError_t end = cudaStreamEndCapture(s, &graph);
    if (e == cudaSuccess) e = end;
    if (e == cudaSuccess) e = cudaGraphInstantiate(&exec, graph, 0);
    if (graph) cudaGraphDestroy(graph);
    return e;
  }
  ~Graph() {
    if (exec) cudaGraphExecDestroy(exec);
  }
};
struct Timer {
  cudaEvent_t from, to;
  cudaStream_t s;
  double us(const Graph& g) const {  // of a launch
    CHECK(cudaEventRecord(from, s));
    CHECK(cudaGraphLaunch(g.exec, s));
    CHECK(cudaEventRecord(to, s));
    CHECK(cudaStreamSynchronize(s));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, from, to));
    return 1000.0 * ms / g.launches;
  }
};
double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct Options {
  bool verbose = false, extra = false;
  std::string only;
  std::vector<Shape> shapes;
  double seconds = 110;
};

constexpr int kGuard = 32768;  // elements behind C

struct Bench {
  cudaStream_t s;
  Timer timer;
  cublasLtHandle_t lt;
  void* workspace;
  static constexpr size_t kWorkspace = 64u << 20;
  Verdict* verdict;

  Bench() {
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    timer.s = s;
    CHECK(cudaEventCreate(&timer.from));
    CHECK(cudaEventCreate(&timer.to));
    if (cublasLtCreate(&lt) != CUBLAS_STATUS_SUCCESS) {
      say("E cublasLtCreate failed");
      _exit(3);
    }
    CHECK(cudaMalloc(&workspace, kWorkspace));
    CHECK(cudaMalloc(&verdict, sizeof(Verdict)));
  }

  std::string check(const Operands& o, const double* reference, const Shape& shape, double& error,
                    bool& good) {
    CHECK(cudaMemsetAsync(verdict, 0, sizeof(Verdict), s));
    const long long count = static_cast<long long>(shape.m) * shape.n;
    check_kernel<<<512, 256, 0, s>>>(o.c, reference, count, kGuard, shape.k / 4.0 / (1 << 18),
                                     verdict);
    CHECK(cudaGetLastError());
    Verdict v;
    CHECK(cudaMemcpyAsync(&v, verdict, sizeof v, cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamSynchronize(s));
    float worst;
    memcpy(&worst, &v.worst, 4);
    error = v.norm2 > 0 ? sqrt(v.error2 / v.norm2) : 0;
    good = v.bad == 0 && v.guard == 0;
    char text[200];
    snprintf(text, sizeof text,
             "%llu of %lld outside the bound, worst %.3g of it, rel %.2e, guard %llu", v.bad, count,
             worst, error, v.guard);
    return text;
  }

  void run(int index, const Shape& shape, const std::vector<Variant>& variants,
           const std::vector<char>& dead) {
    say("S %d setup", index);
    const long long in_a = 1ll * shape.m * shape.k, in_b = 1ll * shape.n * shape.k,
                    in_c = 1ll * shape.m * shape.n;
    const double bytes = 2.0 * (in_a + in_b + in_c), flops = 2.0 * shape.m * shape.n * shape.k;
    const int sets = std::max(2, static_cast<int>(150e6 / bytes) + 1);
    const double floor_us = std::max(std::max(bytes / 3e6, flops / 8e8), 4.0);
    int launches = std::min(400, std::max(sets, static_cast<int>(3000 / floor_us)));
    launches = std::max(sets, launches / sets * sets);
    // One allocation; every operand begins at a multiple of 1024 bytes.
    const auto round = [](long long e) { return (e + 511) / 512 * 512; };
    const long long set = round(in_a) + round(in_b) + round(in_c + kGuard);
    bf16* memory;
    double* reference;
    CHECK(cudaMalloc(&memory, 2 * set * sets));
    CHECK(cudaMalloc(&reference, 8 * in_c));
    std::vector<Operands> operands;
    for (int i = 0; i < sets; ++i) {
      bf16* const p = memory + i * set;
      operands.push_back({p, p + round(in_a), p + round(in_a) + round(in_b)});
      fill_kernel<<<1056, 256, 0, s>>>(operands[i].a, in_a, 2 * i * 0x1234567ull + 1);
      fill_kernel<<<1056, 256, 0, s>>>(operands[i].b, in_b, (2 * i + 1) * 0x7654321ull + 99);
    }
    reference_kernel<<<dim3((shape.n + 63) / 64, (shape.m + 63) / 64), 256, 0, s>>>(
        operands[0].a, operands[0].b, reference, shape.m, shape.n, shape.k);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(s));
    const auto poison = [&] {
      CHECK(cudaMemsetAsync(operands[0].c, 0xff, 2 * (in_c + kGuard), s));
    };

    // cublasLt in column-major terms: C^T = B * A^T with op(B) = T.
    say("S %d cublasLt", index);
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t lb, la, lc;
    cublasLtMatmulPreference_t preference;
    const cublasOperation_t yes = CUBLAS_OP_T, no = CUBLAS_OP_N;
    const size_t most = kWorkspace;
    cublasLtMatmulHeuristicResult_t found[8];
    int count = 0;
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &yes, sizeof yes);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB, &no, sizeof no);
    cublasLtMatrixLayoutCreate(&lb, CUDA_R_16BF, shape.k, shape.n, shape.k);
    cublasLtMatrixLayoutCreate(&la, CUDA_R_16BF, shape.k, shape.m, shape.k);
    cublasLtMatrixLayoutCreate(&lc, CUDA_R_16BF, shape.n, shape.m, shape.n);
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &most, sizeof most);
    const auto status =
        cublasLtMatmulAlgoGetHeuristic(lt, desc, lb, la, lc, lc, preference, 8, found, &count);
    if (status != CUBLAS_STATUS_SUCCESS)
      say("N cublasLt's heuristic: status %d", static_cast<int>(status));
    const float one = 1, zero = 0;
    const auto vendor = [&](int algo, const Operands& o) {
      return cublasLtMatmul(lt, desc, &one, o.b, lb, o.a, la, &zero, o.c, lc, o.c, lc,
                            &found[algo].algo, workspace, kWorkspace, s) == CUBLAS_STATUS_SUCCESS
                 ? cudaSuccess
                 : cudaErrorUnknown;
    };
    Graph lt_best;
    double lt_us = 0, lt_first = 0, error = 0;
    bool good = false;
    for (int i = 0; i < count; ++i) {
      poison();
      if (vendor(i, operands[0]) != cudaSuccess) continue;
      const std::string text = check(operands[0], reference, shape, error, good);
      if (!good) {
        say("N cublasLt candidate %d is wrong: %s", i, text.c_str());
        continue;
      }
      Graph g;
      if (g.build(
              launches, [&](int j) { return vendor(i, operands[j % sets]); }, s) != cudaSuccess) {
        (void)cudaGetLastError();
        say("N cublasLt candidate %d cannot be captured", i);
        continue;
      }
      timer.us(g);
      const double us = median({timer.us(g), timer.us(g), timer.us(g)});
      if (i == 0) lt_first = us;
      say("N   cublasLt candidate %d: %.2f us, rel error %.2e", i, us, error);
      if (lt_us == 0 || us < lt_us)
        lt_us = us, std::swap(lt_best.exec, g.exec), lt_best.launches = launches;
    }

    Graph best;
    double best_us = 0, best_error = 0;
    int best_at = -1;
    for (size_t i = 0; i < variants.size(); ++i) {
      const Variant& v = variants[i];
      if (dead[i] || !v.fits(shape)) continue;
      say("V %d %zu", index, i);
      poison();
      cudaError_t e = v.launch(shape, operands[0], s);
      if (e != cudaSuccess) {  // not launched: the context is whole
        (void)cudaGetLastError();
        say("F %zu cannot be launched: %s", i, cudaGetErrorString(e));
        continue;
      }
      e = cudaStreamSynchronize(s);
      if (e != cudaSuccess) {
        say("F %zu failed on the device (trap: a wait lasted over a second): %s", i,
            cudaGetErrorString(e));
        _exit(5);
      }
      const std::string text = check(operands[0], reference, shape, error, good);
      if (!good) {
        say("F %zu wrong: %s", i, text.c_str());
        continue;
      }
      Graph g;
      e = g.build(
          launches, [&](int j) { return v.launch(shape, operands[j % sets], s); }, s);
      if (e != cudaSuccess) {
        (void)cudaGetLastError();
        say("F %zu cannot be captured: %s", i, cudaGetErrorString(e));
        continue;
      }
      timer.us(g);
      const double us = median({timer.us(g), timer.us(g), timer.us(g)});
      say("N   %s: %.2f us, %s", v.name.c_str(), us, text.c_str());
      if (best_at < 0 || us < best_us) {
        best_at = static_cast<int>(i), best_us = us, best_error = error;
        std::swap(best.exec, g.exec), best.launches = launches;
      }
    }

    say("S %d finals", index);
    if (best_at >= 0 && lt_us > 0) {
      std::vector<double> ours, theirs;
      for (int round_of = 0; round_of < 5; ++round_of) {
        if (round_of % 2)
          ours.push_back(timer.us(best)), theirs.push_back(timer.us(lt_best));
        else
          theirs.push_back(timer.us(lt_best)), ours.push_back(timer.us(best));
      }
      // The graph's own results, not what an earlier launch left.
      poison();
      timer.us(best);
      const std::string text = check(operands[0], reference, shape, best_error, good);
      if (!good) say("N wrong after timing: %s", text.c_str());
      best_us = median(ours);
      lt_us = median(theirs);
    }
    char first[64] = "";
    if (lt_first > 0) snprintf(first, sizeof first, "%.2f", lt_first);
    say("R %d %-16s ours %8.2f us %6.0f TF %5.2f TB/s (%s)  cublasLt %8.2f us (first %s)  ratio "
        "%.3f  rel error %.2e%s",
        index, shape.name().c_str(), best_us, best_us > 0 ? flops / best_us * 1e-6 : 0,
        best_us > 0 ? bytes / best_us * 1e-6 : 0,
        best_at >= 0 ? variants[best_at].name.c_str() : "none", lt_us, first,
        best_us > 0 ? lt_us / best_us : 0, best_error, best_at >= 0 && !good ? " WRONG" : "");
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtMatrixLayoutDestroy(la);
    cublasLtMatrixLayoutDestroy(lb);
    cublasLtMatrixLayoutDestroy(lc);
    cublasLtMatmulDescDestroy(desc);
    CHECK(cudaFree(memory));
    CHECK(cudaFree(reference));
  }
};

// ---------------------------------------------------------------- parent: children, time limits
int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    Shape shape;
    if (a == "-v")
      options.verbose = true;
    else if (a == "--extra")
      options.extra = true;
    else if (a == "--only" && i + 1 < argc)
      options.only = argv[++i];
    else if (a == "--seconds" && i + 1 < argc)
      options.seconds = atof(argv[++i]);
    else if (a == "--shape" && i + 1 < argc &&
             sscanf(argv[++i], "%dx%dx%d", &shape.m, &shape.n, &shape.k) == 3 && shape.n % 8 == 0 &&
             shape.k % 8 == 0 && shape.m > 0)
      options.shapes.push_back(shape);
    else {
      fprintf(stderr,
              "usage: trial [-v] [--extra] [--only TEXT] [--shape MxNxK (N, K multiples of 8)] "
              "[--seconds S]\n");
      return 2;
    }
  }
  std::vector<Shape> shapes = options.shapes;
  if (shapes.empty()) {
    shapes = {{1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}};
    for (const int m : {1, 4, 16, 64}) {
      for (const Shape& s : {Shape{0, 1536, 7168},
                             {0, 4096, 4096},
                             {0, 14336, 4096},
                             {0, 7168, 768},
                             {0, 256, 7168}}) {
        shapes.push_back({m, s.n, s.k});
      }
    }
    if (options.extra) {
      for (const Shape& s : {Shape{8, 4096, 4096},
                             {32, 4096, 4096},
                             {3, 1000, 1000},
                             {13, 1000, 1000},
                             {1000, 1000, 1000},
                             {136, 8192, 264}})
        shapes.push_back(s);
    }
  }
  const std::vector<Variant> variants = all_variants();
  std::vector<char> dead(variants.size(), 0);
  for (size_t i = 0; i < variants.size(); ++i)
    dead[i] = variants[i].name.find(options.only) == std::string::npos;
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const double start = now();
  int next = 0, failures_at_shape = 0;
  while (next < static_cast<int>(shapes.size())) {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    const pid_t child = fork();  // the parent never starts CUDA
    if (child == 0) {
      close(ends[0]);
      g_pipe = ends[1];
      {
        Bench bench;
        for (int i = next; i < static_cast<int>(shapes.size()); ++i)
          bench.run(i, shapes[i], variants, dead);
      }
      say("D");
      _exit(0);
    }
    close(ends[1]);
    std::string buffer;
    int variant = -1, shape = next;  // in progress
    bool ended = false, in_time = true, reported = false;
    double heard = now();
    const char* phase = "start";
    while (true) {
      const double left = std::min(heard + 20, start + options.seconds) - now();
      pollfd p = {ends[0], POLLIN, 0};
      const int r = left > 0 ? poll(&p, 1, static_cast<int>(1000 * left) + 1) : 0;
      if (r <= 0) {
        in_time = false;
        break;
      }
      char chunk[4096];
      const ssize_t got = read(ends[0], chunk, sizeof chunk);
      if (got <= 0) break;
      heard = now();
      buffer.append(chunk, got);
      for (size_t at; (at = buffer.find('\n')) != std::string::npos; buffer.erase(0, at + 1)) {
        const std::string line = buffer.substr(0, at);
        int number = 0, other = 0, skip = 0;
        switch (line[0]) {
          case 'S':
            sscanf(line.c_str(), "S %d %n", &shape, &skip);
            variant = -1;
            phase = line.compare(skip, 1, "f") == 0   ? "finals"
                    : line.compare(skip, 1, "c") == 0 ? "cublasLt"
                                                      : "setup";
            break;
          case 'V':
            if (sscanf(line.c_str(), "V %d %d", &shape, &other) == 2) variant = other;
            phase = "variant";
            break;
          case 'F':
            sscanf(line.c_str(), "F %d %n", &number, &skip);
            printf("FAILED %s at %s: %s\n", variants[number].name.c_str(),
                   shapes[shape].name().c_str(), line.c_str() + skip);
            reported = true;
            break;
          case 'R':
            sscanf(line.c_str(), "R %d %n", &number, &skip);
            printf("%s\n", line.c_str() + skip);
            next = number + 1;
            failures_at_shape = 0;
            variant = -1;
            break;
          case 'D':
            ended = true;
            break;
          case 'E':
            printf("ERROR %s\n", line.c_str() + 2);
            break;
          default:
            if (options.verbose || line.find("rong") != std::string::npos)
              printf("%s\n", line.c_str() + 2);
        }
      }
    }
    close(ends[0]);
    if (!in_time) kill(child, SIGKILL);
    int status = 0;
    pid_t done = 0;
    for (int i = 0; i < 150 && (done = waitpid(child, &status, WNOHANG)) == 0; ++i) usleep(100000);
    if (done == 0) printf("WARNING a killed child has not gone after 15 s\n");
    if (ended) break;
    if (!in_time && now() - start >= options.seconds - 0.5) {
      printf("STOPPED after %.0f s, in %s of %s\n", options.seconds,
             variant >= 0 ? variants[variant].name.c_str() : phase, shapes[shape].name().c_str());
      return 1;
    }
    const std::string why =
        !in_time ? "no sign of life for 20 s, killed"
        : WIFSIGNALED(status)
            ? "its process died of signal " + std::to_string(WTERMSIG(status))
            : "its process ended with code " + std::to_string(WEXITSTATUS(status));
    if (variant >= 0) {
      if (!reported || !in_time)
        printf("FAILED %s at %s: %s\n", variants[variant].name.c_str(),
               shapes[shape].name().c_str(), why.c_str());
      printf("  (left out from here on; the shape starts again in a new process)\n");
      dead[variant] = 1;
      next = shape;
    } else {
      printf("FAILED %s at %s: %s\n", phase, shapes[shape].name().c_str(), why.c_str());
      if (strcmp(phase, "start") == 0 && ++failures_at_shape > 1) return 1;
      if (strcmp(phase, "start") != 0) next = shape + 1;
    }
  }
  printf("done in %.0f s\n", now() - start);
  return 0;
}
