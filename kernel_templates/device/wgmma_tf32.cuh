// Matrix instructions of a warpgroup with TF32 operands: 64 rows of A, which are in registers,
// times 64 or 128 columns of B, which are in shared memory (wgmma, compute capability 9.0 alone).
// Plain C++ compilers see an empty header.
#pragma once

#ifndef PROMOTE_K
#define PROMOTE_K 32
#endif

#include "mma.cuh"
#include "wgmma.cuh"

#ifdef __CUDACC__

namespace autotune_device {

#define WGMMA_TF32(registers, columns, a0, a1, a2, a3, b, add)                                  \
  "{\n.reg .pred add;\nsetp.ne.s32 add, " add ", 0;\nwgmma.mma_async.sync.aligned.m64n" columns \
  "k8.f32.tf32.tf32 {" registers "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b ", add, 1, 1;\n}"

// Starts sums = (add ? sums : 0) + the products of 8 elements of K. A lane has of A what mma_tf32()
// takes, and sums as wgmma() has them. b: see matrix_descriptor(); each 8 k are 32 bytes further.
// All threads of the warpgroup call this.
__device__ __forceinline__ void wgmma_tf32(float (&sums)[32], const Fragment<4>& a,
                                           unsigned long long b, int add) {
  asm volatile(WGMMA_TF32(REGISTERS_32, "64", "%32", "%33", "%34", "%35", "%36", "%37")
               : SUMS_32(sums, 0)
               : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "l"(b), "r"(add)
               : "memory");
}
__device__ __forceinline__ void wgmma_tf32(float (&sums)[64], const Fragment<4>& a,
                                           unsigned long long b, int add) {
  asm volatile(WGMMA_TF32(REGISTERS_64, "128", "%64", "%65", "%66", "%67", "%68", "%69")
               : SUMS_32(sums, 0), SUMS_32(sums, 32)
               : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "l"(b), "r"(add)
               : "memory");
}

}  // namespace autotune_device

#endif
