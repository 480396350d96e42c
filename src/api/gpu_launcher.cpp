// Kernels of the application's own on GPUs.
#include <utility>

#include "autotune/error.hpp"

#include "api/gpu_launch.hpp"
#include "api/kernel_launcher.hpp"
#include "api/stream_workspace.hpp"
#include "gpu/context.hpp"
#include "gpu/stream.hpp"

namespace autotune {
namespace {

using Scope = gpu::CallerContexts::Scope;

// The driver, and the contexts that calls come from.
struct Machine {
  explicit Machine(int of_threads_without_context)
      : driver(gpu::Driver::open()),
        ordinal(of_threads_without_context),
        contexts(driver, ordinal) {}

  std::shared_ptr<const gpu::Driver> driver;
  int ordinal;
  gpu::CallerContexts contexts;
};

class GpuLoadedLaunch : public LoadedLaunch {
 public:
  GpuLoadedLaunch(std::shared_ptr<const Machine> machine, std::uint64_t context,
                  const std::string& image, const LaunchDescription& launch)
      : machine_(std::move(machine)),
        context_(context),
        ordinal_(gpu::current_device(*machine_->driver).value_or(machine_->ordinal)),
        kernel_(std::make_unique<GpuKernel>(*machine_->driver, image, launch.name)),
        geometry_(launch.geometry),
        layout_(launch.signature) {
    kernel_->allow(geometry_);
  }
  ~GpuLoadedLaunch() override;

  void run(const LaunchValues& values, Stream stream) const override;

 private:
  std::shared_ptr<const Machine> machine_;
  std::uint64_t context_;
  int ordinal_;  // of the context's device
  std::unique_ptr<GpuKernel> kernel_;
  LaunchGeometry geometry_;
  ArgumentLayout layout_;
};

// A kernel is unloaded in its own context. That of an application may be gone, and the kernel with
// it.
GpuLoadedLaunch::~GpuLoadedLaunch() {
  const auto unload_in = [&](std::uint64_t id) {
    if (id == context_) kernel_.reset();
  };
  try {
    unload_in(gpu::current_context_id(*machine_->driver));
  } catch (const gpu::DriverError&) {
    // The thread has no context, or a broken one.
  }
  if (kernel_) gpu::in_living_primary_context(machine_->driver, ordinal_, unload_in);
  if (kernel_) kernel_->module.leave_to_context();
}

void GpuLoadedLaunch::run(const LaunchValues& values, Stream stream) const {
  const Scope scope(machine_->contexts);
  if (scope.id() != context_) {
    throw UsageError("the plan was made in another CUDA context than the thread's current one");
  }
  ArgumentPack arguments(layout_, values);
  kernel_->kernel.launch(geometry_, arguments.pointers(), stream);
}

class GpuLauncher : public KernelLauncher {
 public:
  explicit GpuLauncher(int ordinal) : machine_(std::make_shared<const Machine>(ordinal)) {}

  [[nodiscard]] std::uint64_t context() const override { return Scope(machine_->contexts).id(); }
  [[nodiscard]] std::shared_ptr<const LoadedLaunch> load(
      const LaunchDescription& launch, const std::function<std::string()>& image,
      std::optional<Stream> stream) const override {
    const Scope scope(machine_->contexts);
    if (stream) refuse_capture(*machine_->driver, *stream);
    const std::string compiled = image();
    const gpu::RelaxedCapture others_may_capture(*machine_->driver);
    return std::make_shared<const GpuLoadedLaunch>(machine_, scope.id(), compiled, launch);
  }

 private:
  std::shared_ptr<const Machine> machine_;
};

}  // namespace

std::unique_ptr<KernelLauncher> make_gpu_launcher(int ordinal) {
  return std::make_unique<GpuLauncher>(ordinal);
}

}  // namespace autotune
