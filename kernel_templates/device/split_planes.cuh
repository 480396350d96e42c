// The work of the kernel that prepares operands: it splits them into planes (device/planes.cuh).
#pragma once

#include "element.cuh"
#include "grid_dependency.cuh"
#include "split_contiguous.cuh"
#include "split_strided.cuh"
#include "sync.cuh"

#ifdef __CUDACC__

namespace autotune_device {

template <bool kContiguous>
struct RowsOf {
  using Type = ContiguousRows;
};
template <>
struct RowsOf<false> {
  using Type = StridedRows;
};
template <bool kContiguous>
using Rows = typename RowsOf<kContiguous>::Type;

// Splits the operands that `prepares` names (1: A, 2: B, 3: both). All threads of blocks along x
// call this, in clusters of kSplitBlocks where rows of an operand are strided. Dynamic shared
// memory: kSplitThreads floats, and the larger of StridedRows::kReceived + 33 * held() where rows
// are strided and ContiguousRows::kHeld for each thread where rows are contiguous.
__device__ __forceinline__ void split_operands(const float* __restrict__ a,
                                               const float* __restrict__ b, long long m,
                                               long long n, long long k, long long lda,
                                               long long ldb, float* workspace, void* prepared_a,
                                               void* prepared_b, unsigned prepares) {
  extern __shared__ __align__(128) float shared_floats[];
  // The next kernel's blocks may start: they wait for the end of this launch.
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  const OperandPlanes planes(workspace + kWorkspaceCounters, prepared_a, prepared_b, m, n, k);
  // Strided operands, which take longest, come first, so that contiguous rows fill the gaps at the
  // end.
  constexpr bool kBFirst = !TRANSPOSE_B;
  using RowsA = Rows<!TRANSPOSE_A>;
  using RowsB = Rows<TRANSPOSE_B>;
  const auto k_count = static_cast<unsigned>(k);
  const bool has_first = prepares & (kBFirst ? 2 : 1);
  const unsigned all_of_first =
      kBFirst ? RowsB::blocks(planes.b.rows, k_count) : RowsA::blocks(planes.a.rows, k_count);
  const unsigned first = has_first ? all_of_first : 0;
  griddep_wait(static_cast<int>(all_of_first));
  const bool is_first = blockIdx.x < first;
  const unsigned block = is_first ? blockIdx.x : blockIdx.x - first;
  if (is_first == kBFirst) {
    RowsB::split(planes.b, b, ldb, k_count, block, shared_floats);
  } else {
    RowsA::split(planes.a, a, lda, k_count, block, shared_floats);
  }
}

}  // namespace autotune_device

#endif
