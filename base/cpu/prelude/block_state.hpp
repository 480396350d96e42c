// The state of a block that a kernel on the CPU device sees. Compiled into every kernel and into
// the block runner (base/cpu/block_runner.hpp), which fills it in. It includes no headers,
// since kernels are compiled without any.
#pragma once

struct autotune_index {
  unsigned x, y, z;
};

// What a thread of a traced kernel does next (prelude/tracing.hpp).
struct autotune_step {
  // whole: says that the next access to this memory moves all of it at once. pass: gets to another
  // place.
  enum Kind { read, write, whole, pass } kind;
  const void* place;  // in the kernel's code; further down in a function is higher
  const void* frame;  // on the stack, of the function; that of a function that it calls is lower
  const void* address;
  unsigned long bytes;
  bool is_shared;  // memory, at this address
};

struct autotune_block_state {
  autotune_index thread, block, block_dim, grid_dim;
  void (*barrier)(void* runner, int line);  // returns when every thread of the block has called it
  void* runner;
  void (*trace)(void* tracer, const autotune_step& step);  // set for traced kernels alone
  void* tracer;
};
