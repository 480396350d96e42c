// The launches of a product on a GPU: enqueued in the current context, on the call's stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/gemm_call.hpp"
#include "api/prepared_operand.hpp"
#include "gpu/kernel_arguments.hpp"
#include "gpu/memory.hpp"
#include "gpu/module.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace autotune {

struct GpuKernel {
  GpuKernel(const gpu::Driver& driver, const std::string& image, const std::string& name)
      : module(driver, image), kernel(module.kernel(name)) {}

  // Problems that share the code may differ in the shared memory that their launches take.
  void allow(const LaunchGeometry& geometry) const {
    const std::lock_guard lock(allowing);
    kernel.allow_dynamic_shared(geometry);
  }

  gpu::Module module;
  gpu::Kernel kernel;
  mutable std::mutex allowing = {};
};

// A kernel with all that its launches have in common.
struct GpuLaunch {
  const GpuKernel* kernel = nullptr;
  const std::string* name = nullptr;  // of the template
  LaunchGeometry geometry;
  ArgumentLayout arguments;
  std::vector<TensorDesc> tensors;  // of the problem, without padding
};

// An operand's prepared form in device memory.
struct GpuPrepared : PreparedOperand {
  ~GpuPrepared() override;

  std::shared_ptr<const gpu::Driver> driver;
  const Allocator* allocator = nullptr;
  int ordinal = 0;
  gpu::DeviceBuffer memory;
};

// The kernel of scaling_choice(), which multiplies C by beta.
struct Scaling {
  GpuLaunch launch;
  TileShape tile;
};

// All of a launch but its loaded kernel.
[[nodiscard]] GpuLaunch launch_without_code(const KernelTemplate& kernel,
                                            const Configuration& configuration,
                                            const Problem& problem, PointerMode mode);

// Multiplies, with a kernel that takes the scalars as the call has them. Operands that were
// prepared are used as such where the kernel has a use for them.
void multiply(const gpu::Driver& driver, const GpuLaunch& launch, const GemmCall& call,
              std::uint64_t workspace);

// Writes the form of operand `index` (0: A, 1: B) that the kernel prepares to memory that it
// allocates in the current context, the one that `operand` is said to belong to.
void prepare_operand(const GpuLaunch& launch, const GemmCall& call, std::size_t index,
                     GpuPrepared& operand);

// Multiplies C by beta where that needs no kernel. Returns false where one is needed.
[[nodiscard]] bool scaled_by_driver(const gpu::Driver& driver, const GemmCall& call);
void scale(const gpu::Driver& driver, const Scaling& scaling, const GemmCall& call);

}  // namespace autotune
