// Matrix instructions of a warpgroup: 64 rows of A times 8 to 256 columns of B, with operands of
// 16 bits in shared memory and sums of FP32 in registers (wgmma, compute capability 9.0 alone).
// Plain C++ compilers see an empty header.
//
// PROMOTE_K is the number of elements of K that a call multiplies: 32 or 64.
#pragma once

// The type of both operands, as PTX names it. WGMMA_NAME_OF(ELEMENT_A) has that of elements.
#ifndef WGMMA_TYPE
#define WGMMA_TYPE "f16"
#endif
#define WGMMA_NAME_OF(element) WGMMA_NAME_OF_NAMED(element)
#define WGMMA_NAME_OF_NAMED(element) WGMMA_NAME_OF_##element
#define WGMMA_NAME_OF___nv_bfloat16 "bf16"
#define WGMMA_NAME_OF___half "f16"

// 1: shared memory has the rows of A, or the columns of B, of one k side by side.
#ifndef WGMMA_MN_MAJOR_A
#define WGMMA_MN_MAJOR_A 0
#endif
#ifndef WGMMA_MN_MAJOR_B
#define WGMMA_MN_MAJOR_B 0
#endif

#ifdef __CUDACC__

namespace autotune_device {

// Describes rows of an operand in shared memory: 64 elements along K (128 bytes) each, one row
// behind the other from a multiple of 1024 bytes on, with the vectors of 16 bytes in the order of
// the 128-byte swizzle.
__device__ __forceinline__ unsigned long long matrix_descriptor(unsigned shared_address) {
  constexpr unsigned long long kSwizzle128 = 1ULL << 62;
  constexpr unsigned long long kEightRows = 1024 / 16;
  return kSwizzle128 | kEightRows << 32 | 1ULL << 16 | shared_address / 16;
}

// Describes an MN-major operand: boxes of 64 lines (rows of A, columns of B) by 64 of K, one box
// behind the other. A box has 64 lines of one k (128 bytes) behind those of the k before, with the
// vectors of 16 bytes in the order of the 128-byte swizzle.
__device__ __forceinline__ unsigned long long mn_major_descriptor(unsigned shared_address) {
  constexpr unsigned long long kFromOneBox = (8192 / 16 - 1) << 16;
  // In a cluster, a block's number is in the address, above the bits that are described.
  return matrix_descriptor(shared_address & 0x3ffff) + kFromOneBox;
}

// Orders earlier accesses to the sums' registers before the matrix instructions that follow.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
// Ends a group of matrix instructions.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits until all groups but the last kPending are complete.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

#define SUMS_4(d, i) "+f"((d)[i]), "+f"((d)[(i) + 1]), "+f"((d)[(i) + 2]), "+f"((d)[(i) + 3])
#define SUMS_8(d, i)                                                                            \
  "+f"((d)[i]), "+f"((d)[(i) + 1]), "+f"((d)[(i) + 2]), "+f"((d)[(i) + 3]), "+f"((d)[(i) + 4]), \
      "+f"((d)[(i) + 5]), "+f"((d)[(i) + 6]), "+f"((d)[(i) + 7])
#define SUMS_32(d, i) SUMS_8(d, i), SUMS_8(d, (i) + 8), SUMS_8(d, (i) + 16), SUMS_8(d, (i) + 24)

// Keeps the compiler from moving reads and writes of sums past this place. Without it the compiler
// serializes the matrix instructions. The groups have 32 sums as far as possible: with groups of 8,
// ptxas orders the instructions of some kernels in another way.
template <int kCount>
__device__ __forceinline__ void pin(float (&sums)[kCount]) {
  constexpr int kInGroups = kCount / 32 * 32, kInEights = kCount / 8 * 8;
#pragma unroll
  for (int i = 0; i < kInGroups; i += 32) asm volatile("" : SUMS_32(sums, i)::"memory");
#pragma unroll
  for (int i = kInGroups; i < kInEights; i += 8) asm volatile("" : SUMS_8(sums, i)::"memory");
#pragma unroll
  for (int i = kInEights; i < kCount; i += 4) asm volatile("" : SUMS_4(sums, i)::"memory");
}

// The names of a statement's first operands, which are the sums.
#define REGISTERS_4 "%0, %1, %2, %3"
#define REGISTERS_8 REGISTERS_4 ", %4, %5, %6, %7"
#define REGISTERS_16 REGISTERS_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define REGISTERS_32 \
  REGISTERS_16       \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define REGISTERS_40 REGISTERS_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define REGISTERS_48 REGISTERS_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define REGISTERS_56 REGISTERS_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define REGISTERS_64 REGISTERS_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define REGISTERS_96                                                                   \
  REGISTERS_64                                                                         \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define REGISTERS_128                                                  \
  REGISTERS_96                                                         \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, "   \
  "%107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, " \
  "%118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// How far 16 elements of K are along an operand, as descriptors count, and its bit of the
// instruction.
#if WGMMA_MN_MAJOR_A
#define WGMMA_ALONG_A "128"
#define WGMMA_MAJOR_A "1"
#else
#define WGMMA_ALONG_A "2"
#define WGMMA_MAJOR_A "0"
#endif
#if WGMMA_MN_MAJOR_B
#define WGMMA_ALONG_B "128"
#define WGMMA_MAJOR_B "1"
#else
#define WGMMA_ALONG_B "2"
#define WGMMA_MAJOR_B "0"
#endif

// The products of 16 elements of K, and of those that are `steps` times 16 elements further.
#define WGMMA_STEP(registers, columns, a, b, add)                                                 \
  "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." WGMMA_TYPE "." WGMMA_TYPE " {" registers \
  "}, " a ", " b ", " add ", 1, 1, " WGMMA_MAJOR_A ", " WGMMA_MAJOR_B ";\n"
#define WGMMA_AHEAD(registers, columns, a, b, steps)                                               \
  "add.s64 a, " a ", " steps " * " WGMMA_ALONG_A ";\nadd.s64 b, " b ", " steps " * " WGMMA_ALONG_B \
  ";\n" WGMMA_STEP(registers, columns, "a", "b", "one")

// The products of PROMOTE_K elements of K.
#if PROMOTE_K == 32
#define WGMMA_ALL_AHEAD(registers, columns, a, b) WGMMA_AHEAD(registers, columns, a, b, "1")
#else
#define WGMMA_ALL_AHEAD(registers, columns, a, b) \
  WGMMA_AHEAD(registers, columns, a, b, "1")      \
  WGMMA_AHEAD(registers, columns, a, b, "2") WGMMA_AHEAD(registers, columns, a, b, "3")
#endif
#define WGMMA(registers, columns, a, b, add)                     \
  "{\n.reg .pred add, one;\n.reg .b64 a, b;\n"                   \
  "setp.ne.s32 add, " add ", 0;\nsetp.eq.s32 one, " add ", " add \
  ";\n" WGMMA_STEP(registers, columns, a, b, "add") WGMMA_ALL_AHEAD(registers, columns, a, b) "}"

// Starts sums = (add ? sums : 0) + the products of PROMOTE_K elements of K. A thread's sums are
// those of two rows, 8 apart: four neighbours of a group are two columns of the one and of the
// other row, and groups are 8 columns apart. All threads of the warpgroup call this.
//
// There is a function for each number of columns. Statements name their operands by numbers, so the
// macro takes the number of sums, the two numbers behind it (a, b and add follow the sums), and the
// sums as operands.
#define DEFINE_WGMMA(columns, count, count_1, count_2, ...)                                 \
  __device__ __forceinline__ void wgmma(float(&sums)[count], unsigned long long a,          \
                                        unsigned long long b, int add) {                    \
    asm volatile(WGMMA(REGISTERS_##count, #columns, "%" #count, "%" #count_1, "%" #count_2) \
                 : __VA_ARGS__                                                              \
                 : "l"(a), "l"(b), "r"(add)                                                 \
                 : "memory");                                                               \
  }
DEFINE_WGMMA(8, 4, 5, 6, SUMS_4(sums, 0))
DEFINE_WGMMA(16, 8, 9, 10, SUMS_8(sums, 0))
DEFINE_WGMMA(32, 16, 17, 18, SUMS_8(sums, 0), SUMS_8(sums, 8))
DEFINE_WGMMA(64, 32, 33, 34, SUMS_32(sums, 0))
DEFINE_WGMMA(80, 40, 41, 42, SUMS_32(sums, 0), SUMS_8(sums, 32))
DEFINE_WGMMA(96, 48, 49, 50, SUMS_32(sums, 0), SUMS_8(sums, 32), SUMS_8(sums, 40))
DEFINE_WGMMA(112, 56, 57, 58, SUMS_32(sums, 0), SUMS_8(sums, 32), SUMS_8(sums, 40),
             SUMS_8(sums, 48))
DEFINE_WGMMA(128, 64, 65, 66, SUMS_32(sums, 0), SUMS_32(sums, 32))
DEFINE_WGMMA(192, 96, 97, 98, SUMS_32(sums, 0), SUMS_32(sums, 32), SUMS_32(sums, 64))
DEFINE_WGMMA(256, 128, 129, 130, SUMS_32(sums, 0), SUMS_32(sums, 32), SUMS_32(sums, 64),
             SUMS_32(sums, 96))

}  // namespace autotune_device

#endif
