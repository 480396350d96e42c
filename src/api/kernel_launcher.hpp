// Loads and launches kernels of the application's own, on whichever kind of device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "autotune/gemm_arguments.hpp"

#include "core/kernel_signature.hpp"
#include "core/launch_geometry.hpp"

namespace autotune {

// A loaded kernel with all that its launches have in common. Immutable, and thread-safe.
class LoadedLaunch {
 public:
  LoadedLaunch() = default;
  virtual ~LoadedLaunch() = default;
  LoadedLaunch(const LoadedLaunch&) = delete;
  LoadedLaunch& operator=(const LoadedLaunch&) = delete;

  // Throws UsageError in another context than the one that it was loaded in, and for a stream where
  // there are none.
  virtual void run(const LaunchValues& values, Stream stream) const = 0;
};

struct LaunchDescription {
  std::string name;  // of the function
  LaunchGeometry geometry;
  KernelSignature signature;
};

// Thread-safe.
class KernelLauncher {
 public:
  virtual ~KernelLauncher() = default;
  // Identifies the context that this thread's launches would be in.
  [[nodiscard]] virtual std::uint64_t context() const = 0;
  // Loads a kernel in the thread's context. `image` supplies its compiled image. Throws UsageError
  // where the stream that it is for is being captured.
  [[nodiscard]] virtual std::shared_ptr<const LoadedLaunch> load(
      const LaunchDescription& launch, const std::function<std::string()>& image,
      std::optional<Stream> stream) const = 0;
};

// `ordinal`: the GPU of threads without a context.
[[nodiscard]] std::unique_ptr<KernelLauncher> make_gpu_launcher(int ordinal);
[[nodiscard]] std::unique_ptr<KernelLauncher> make_cpu_launcher();

}  // namespace autotune
