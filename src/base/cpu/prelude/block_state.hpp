// What a kernel on the host device sees of the block that it runs in. Compiled into every kernel
// and into the engine (src/host/block_runner.hpp) that fills it in. No headers: kernels compile
// without any.
#pragma once

struct autotune_index {
  unsigned x, y, z;
};

struct autotune_block_state {
  autotune_index thread, block, block_dim, grid_dim;
  void (*barrier)(void* runner, int line);  // returns when every thread of the block has called it
  void* runner;
};
