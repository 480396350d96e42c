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

class GpuKernelCode : public KernelCode {
 public:
  GpuKernelCode(std::shared_ptr<const Machine> machine, std::uint64_t context,
                const std::string& image, const std::string& name)
      : machine_(std::move(machine)),
        context_(context),
        ordinal_(gpu::current_device(*machine_->driver).value_or(machine_->ordinal)),
        kernel_(std::make_unique<GpuKernel>(*machine_->driver, image, name)) {}
  ~GpuKernelCode() override;

  void allow(const LaunchGeometry& geometry) const override {
    const Scope scope(machine_->contexts);
    kernel_->allow(geometry);
  }
  void run(const LaunchGeometry& geometry, void** arguments, Stream stream) const override {
    const Scope scope(machine_->contexts);
    if (scope.id() != context_) {
      throw UsageError("the plan was made in another CUDA context than the thread's current one");
    }
    kernel_->kernel.launch(geometry, arguments, stream);
  }

 private:
  std::shared_ptr<const Machine> machine_;
  std::uint64_t context_;
  int ordinal_;  // of the context's device
  std::unique_ptr<GpuKernel> kernel_;
};

// A kernel is unloaded in its own context. That of an application may be gone, and the kernel with
// it.
GpuKernelCode::~GpuKernelCode() {
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

class GpuLauncher : public KernelLauncher {
 public:
  explicit GpuLauncher(int ordinal) : machine_(std::make_shared<const Machine>(ordinal)) {}

  [[nodiscard]] std::uint64_t context() const override { return Scope(machine_->contexts).id(); }
  void check_not_captured(Stream stream) const override {
    const Scope scope(machine_->contexts);
    refuse_capture(*machine_->driver, stream);
  }
  [[nodiscard]] std::unique_ptr<KernelCode> load(const std::string& image,
                                                 const std::string& name) const override {
    const Scope scope(machine_->contexts);
    const gpu::RelaxedCapture others_may_capture(*machine_->driver);
    return std::make_unique<GpuKernelCode>(machine_, scope.id(), image, name);
  }

 private:
  std::shared_ptr<const Machine> machine_;
};

}  // namespace

std::unique_ptr<KernelLauncher> make_gpu_launcher(int ordinal) {
  return std::make_unique<GpuLauncher>(ordinal);
}

}  // namespace autotune
