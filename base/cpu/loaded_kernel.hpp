// One copy of a compiled kernel, loaded into this process. Each thread that runs blocks has a copy
// of its own, since a kernel's shared memory is static in it.
#pragma once

#include <string>

#include "core/posix/file_descriptor.hpp"
#include "cpu/prelude/block_state.hpp"

namespace autotune {

// A kernel in this process, and the state in which it finds its block and thread.
struct KernelEntry {
  void (*call)(void** arguments);  // with a pointer to each of the kernel's arguments
  autotune_block_state* state;
};

class LoadedKernel {
 public:
  // `image` has the bytes of a shared object made by CpuCompiler. Throws Error when it cannot be
  // loaded or was compiled for a kernel of another name.
  LoadedKernel(const std::string& image, const std::string& name);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  [[nodiscard]] const KernelEntry& entry() const { return entry_; }

 private:
  FileDescriptor file_;
  void* library_ = nullptr;
  KernelEntry entry_{};
};

}  // namespace autotune
