// Records how the warps of a thread block use memory while the CPU device runs the block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel_signature.hpp"
#include "core/launch_geometry.hpp"
#include "core/tensor.hpp"
#include "cpu/access_pattern.hpp"

namespace autotune {

struct TracedLaunch {
  std::string kernel_name;
  KernelSignature signature;
  LaunchGeometry geometry;          // of which block 0 is run
  std::vector<TensorDesc> tensors;  // in the operation's order; rows may be padded
  std::vector<std::int64_t> sizes;
  std::vector<double> scalars;
  // The number of tiles that the kernel stores to shared memory one after the other, and the number
  // of turns of the loop that reads each of them. A GPU's compiler unrolls the code of a turn and
  // merges its reads of neighbouring elements.
  std::int64_t k_tiles = 1;
  std::int64_t turns = 1;
};

// Returns the accesses to tensors, and to the inputs' elements in shared memory, of one warp after
// the other: "load A", "store tile of A", "read tile of A", "store C". `image` is the kernel,
// compiled by CpuCompiler for tracing. Throws Error when the image cannot be loaded or the block is
// faulty (see BlockRunner).
[[nodiscard]] std::vector<WarpAccess> trace_block(const std::string& image,
                                                  const TracedLaunch& launch);

}  // namespace autotune
