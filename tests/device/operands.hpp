// Operands of a product that the host fills, and runs of kernels on them.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "autotune/problem.hpp"

#include "gpu/memory.hpp"
#include "gpu/module.hpp"
#include "gpu/workspace.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "tests/device/gpu_fixture.hpp"

namespace autotune {

// op(A) by rows and op(B) by columns, so that all vectors run along K.
struct Operands {
  explicit Operands(const GemmProblem& of);

  // The i-th vector of an operand.
  template <typename Values>
  [[nodiscard]] auto vector(Values& operand, std::int64_t i) const {
    const auto length = static_cast<std::size_t>(problem.k);
    return std::span(operand).subspan(static_cast<std::size_t>(i) * length, length);
  }

  GemmProblem problem;
  std::vector<float> a, b;
};

// Uniform in (-1, 1): odd multiples of 2^-24, so that sums depend on their order.
void fill_uniform(std::span<float> values, std::mt19937& random);

// Returns whether a kernel takes operands that a launch before prepared.
[[nodiscard]] bool takes_prepared(const KernelTemplate& kernel, const GemmProblem& problem);

// The factors of a product, where they are, and what all of C is before.
struct Factors {
  float alpha = 1;
  float beta = 0;
  PointerMode mode = PointerMode::host;
  float c = std::numeric_limits<float>::quiet_NaN();
};

// C = alpha op(A) op(B) + beta C on the device, with NaN in the gaps between rows.
class DeviceProduct {
 public:
  // gap: elements behind each row of the three matrices. The device's context must be current.
  DeviceProduct(const Gpu& gpu, const gpu::Stream& stream, const Operands& operands,
                std::int64_t gap);

  // Returns C after one launch. prepared: the operands (1: A, 2: B, 3: both) that a launch before
  // prepares, where the kernel takes prepared ones.
  [[nodiscard]] std::vector<float> result(const KernelTemplate& kernel, const gpu::Kernel& loaded,
                                          const LaunchGeometry& geometry, unsigned prepared = 0,
                                          const Factors& factors = {}) const;

 private:
  const gpu::Stream& stream_;
  GemmProblem problem_;
  std::int64_t gap_;
  gpu::DeviceBuffer a_, b_, c_;
  mutable gpu::Workspace workspace_;
};

}  // namespace autotune
