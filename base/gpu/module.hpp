// Loaded kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/launch_geometry.hpp"
#include "gpu/stream.hpp"

struct CUmod_st;
struct CUfunc_st;

namespace autotune::gpu {

// A kernel of a module, valid as long as the module.
class Kernel {
 public:
  // `preparation` is the function that LaunchGeometry::preparation launches, or nullptr.
  Kernel(const Driver& driver, CUfunc_st* function, CUfunc_st* preparation = nullptr);

  // Allows launches with the geometry's dynamic shared memory, besides those that were allowed
  // before; needed beyond 48 KiB. Not for two threads at a time.
  void allow_dynamic_shared(const LaunchGeometry& geometry) const;
  // `arguments` has a pointer to each of the kernel's arguments. Throws Error for a grid or block
  // whose size does not fit the driver's 32 bits.
  enum class Part { all, preparation };  // of a launch
  void launch(const LaunchGeometry& geometry, void** arguments, CUstream_st* stream,
              Part part = Part::all) const;
  void launch(const LaunchGeometry& geometry, void** arguments, const Stream& stream) const {
    launch(geometry, arguments, stream.handle());
  }

 private:
  [[nodiscard]] int attribute(int which) const;
  const Driver* driver_;
  CUfunc_st* function_;
  CUfunc_st* preparation_;
  bool can_wait_ = false;  // for the previous launch on the stream
};

class Module {
 public:
  // `image` is a cubin or PTX text. The driver takes no length, so a cubin's bounds are checked
  // first. Throws Error for a cubin that is cut short, and for bytes that are neither.
  Module(const Driver& driver, const std::string& image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // The kernel of this name, together with the kernel <name>_prepare if the cubin has one, for
  // LaunchGeometry::preparation.
  [[nodiscard]] Kernel kernel(const std::string& name) const;
  // Keeps the destructor from unloading the module. To be called when the context, which takes its
  // modules with it, may be gone.
  void leave_to_context() { module_ = nullptr; }

 private:
  [[nodiscard]] CUfunc_st* function(const std::string& name) const;

  const Driver& driver_;
  CUmod_st* module_ = nullptr;
  std::vector<std::string> kernels_;  // the names of a cubin's kernels
};

}  // namespace autotune::gpu
