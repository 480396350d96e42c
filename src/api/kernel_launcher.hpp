// Loads and launches kernels of the application's own, on whichever kind of device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "autotune/gemm_arguments.hpp"

#include "core/launch_geometry.hpp"

namespace autotune {

// A kernel's code in one context of a device. Thread-safe.
class KernelCode {
 public:
  KernelCode() = default;
  virtual ~KernelCode() = default;
  KernelCode(const KernelCode&) = delete;
  KernelCode& operator=(const KernelCode&) = delete;

  // To be called before the first launch of a geometry.
  virtual void allow(const LaunchGeometry& geometry) const = 0;
  // Launches with a pointer to each of the kernel's arguments. Throws UsageError in another context
  // than the one that it was loaded in, and for a stream where there are none.
  virtual void run(const LaunchGeometry& geometry, void** arguments, Stream stream) const = 0;
};

// Thread-safe.
class KernelLauncher {
 public:
  virtual ~KernelLauncher() = default;
  // Identifies the context that this thread's launches would be in.
  [[nodiscard]] virtual std::uint64_t context() const = 0;
  // Throws UsageError where the stream is being captured.
  virtual void check_not_captured(Stream stream) const = 0;
  // Loads a kernel in the thread's context.
  [[nodiscard]] virtual std::unique_ptr<KernelCode> load(const std::string& image,
                                                         const std::string& name) const = 0;
};

// `ordinal`: the GPU of threads without a context.
[[nodiscard]] std::unique_ptr<KernelLauncher> make_gpu_launcher(int ordinal);
[[nodiscard]] std::unique_ptr<KernelLauncher> make_cpu_launcher();

}  // namespace autotune
