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
  std::optional<CpuLauncher> launcher;  // with threads, so made with the first kernel
};

class CpuKernelCode : public KernelCode {
 public:
  CpuKernelCode(std::shared_ptr<Machine> machine, const std::string& image, const std::string& name)
      : machine_(std::move(machine)), kernel_(machine_->launcher->load(image, name)), name_(name) {}

  void allow(const LaunchGeometry&) const override {}
  void run(const LaunchGeometry& geometry, void** arguments, Stream stream) const override {
    if (stream != nullptr) throw UsageError("stream: the CPU device has none");
    std::vector<std::int64_t> blocks(static_cast<std::size_t>(geometry.blocks()));
    std::iota(blocks.begin(), blocks.end(), 0);
    const std::lock_guard lock(machine_->mutex);
    const auto fault = machine_->launcher->launch(kernel_, arguments, geometry, blocks);
    if (fault) throw Error(name_ + ": " + *fault);
  }

 private:
  std::shared_ptr<Machine> machine_;
  CpuKernel kernel_;
  std::string name_;
};

class CpuKernelLauncher : public KernelLauncher {
 public:
  [[nodiscard]] std::uint64_t context() const override { return 0; }
  void check_not_captured(Stream) const override {}
  [[nodiscard]] std::unique_ptr<KernelCode> load(const std::string& image,
                                                 const std::string& name) const override {
    const std::lock_guard lock(machine_->mutex);
    if (!machine_->launcher) machine_->launcher.emplace();
    return std::make_unique<CpuKernelCode>(machine_, image, name);
  }

 private:
  std::shared_ptr<Machine> machine_ = std::make_shared<Machine>();
};

}  // namespace

std::unique_ptr<KernelLauncher> make_cpu_launcher() {
  return std::make_unique<CpuKernelLauncher>();
}

}  // namespace autotune
