// Where the library gets memory of a GPU from.
#pragma once

#include <cstddef>
#include <functional>

struct CUstream_st;  // what cudaStream_t and CUstream point to

namespace autotune {

// An application's own source of device memory, such as its pool. Both functions are called in the
// context that the memory is for, by any thread, several at once, and call nothing of this library.
struct Allocator {
  // Returns the address of memory for work on a stream and what is ordered behind it, at a multiple
  // of 256 bytes; nullptr or std::bad_alloc where there is none. What else it throws comes out of
  // the call that needed the memory, as an Error.
  std::function<void*(std::size_t bytes, CUstream_st* stream)> allocate = {};
  // Takes back what allocate() returned. Work that uses the memory is done with. `stream` is the
  // handle that allocate() got: the application may have destroyed it since, and
  // cudaStreamPerThread may have been another thread's. What it throws is dropped.
  std::function<void(void* address, CUstream_st* stream)> release = {};
};

}  // namespace autotune
