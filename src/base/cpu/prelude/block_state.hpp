// The state of a block that a kernel on the CPU device sees. Compiled into every kernel and into
// the block runner (src/base/cpu/block_runner.hpp), which fills it in. It includes no headers,
// since kernels are compiled without any.
#pragma once

struct autotune_index {
  unsigned x, y, z;
};

struct autotune_block_state {
  autotune_index thread, block, block_dim, grid_dim;
  void (*barrier)(void* runner, int line);  // returns when every thread of the block has called it
  void* runner;
};
