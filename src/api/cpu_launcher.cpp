// Kernels of the application's own on the CPU device.
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "autotune/error.hpp"

#include "api/kernel_launcher.hpp"
#include "cpu/launcher.hpp"

namespace autotune {
namespace {

// The threads that run blocks, for one launch at a time.
struct Machine {
  std::mutex mutex;
  CpuLauncher launcher;
};

class CpuLoadedLaunch : public LoadedLaunch {
 public:
  CpuLoadedLaunch(std::shared_ptr<Machine> machine, CpuKernel kernel,
                  const LaunchDescription& launch)
      : machine_(std::move(machine)),
        kernel_(std::move(kernel)),
        name_(launch.name),
        geometry_(launch.geometry),
        layout_(launch.signature) {}

  void run(const LaunchValues& values, Stream stream) const override {
    if (stream != nullptr) throw UsageError("stream: the CPU device has none");
    ArgumentPack arguments(layout_, values);
    std::vector<std::int64_t> blocks(static_cast<std::size_t>(geometry_.blocks()));
    std::iota(blocks.begin(), blocks.end(), 0);
    const std::lock_guard lock(machine_->mutex);
    const auto fault = machine_->launcher.launch(kernel_, arguments.pointers(), geometry_, blocks);
    if (fault) throw Error(name_ + ": " + *fault);
  }

 private:
  std::shared_ptr<Machine> machine_;
  CpuKernel kernel_;
  std::string name_;
  LaunchGeometry geometry_;
  ArgumentLayout layout_;
};

class CpuKernelLauncher : public KernelLauncher {
 public:
  [[nodiscard]] std::uint64_t context() const override { return 0; }
  [[nodiscard]] std::shared_ptr<const LoadedLaunch> load(
      const LaunchDescription& launch, const std::function<std::string()>& image,
      std::optional<Stream> /*stream*/) const override {
    const std::string compiled = image();
    const std::lock_guard lock(machine_->mutex);
    return std::make_shared<const CpuLoadedLaunch>(
        machine_, machine_->launcher.load(compiled, launch.name), launch);
  }

 private:
  std::shared_ptr<Machine> machine_ = std::make_shared<Machine>();
};

}  // namespace

std::unique_ptr<KernelLauncher> make_cpu_launcher() {
  return std::make_unique<CpuKernelLauncher>();
}

}  // namespace autotune
