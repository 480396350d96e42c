// Loaded kernels.
#pragma once

#include <cstdint>
#include <string>

#include "core/launch_geometry.hpp"
#include "gpu/stream.hpp"

struct CUmod_st;
struct CUfunc_st;

namespace autotune::gpu {

// A kernel of a module; valid as long as the module.
class Kernel {
 public:
  Kernel(const Driver& driver, CUfunc_st* function);

  // Allows launches with this much dynamic shared memory; needed beyond 48 KiB.
  void allow_dynamic_shared(std::int64_t bytes) const;
  // `arguments`: a pointer to each of the kernel's arguments. Throws Error for a grid or block that
  // is too large for the driver to be told.
  void launch(const LaunchGeometry& geometry, void** arguments, CUstream_st* stream) const;
  void launch(const LaunchGeometry& geometry, void** arguments, const Stream& stream) const {
    launch(geometry, arguments, stream.handle());
  }

 private:
  [[nodiscard]] int attribute(int which) const;
  const Driver* driver_;
  CUfunc_st* function_;
  bool can_wait_ = false;  // for the launch before it
};

class Module {
 public:
  // `image` is a cubin or PTX text. The driver takes no length, so a cubin's bounds are checked
  // first: one that is cut short throws Error, and so does what is neither.
  Module(const Driver& driver, const std::string& image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  [[nodiscard]] Kernel kernel(const std::string& name) const;
  // Does not unload: for when the context, which takes its modules with it, may be gone.
  void leave_to_context() { module_ = nullptr; }

 private:
  const Driver& driver_;
  CUmod_st* module_ = nullptr;
};

}  // namespace autotune::gpu
