// The arguments of a launch of any kernel template: see kernel_templates/kernel_template.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "autotune/problem.hpp"

#include "core/launch_geometry.hpp"
#include "gpu/driver.hpp"

namespace autotune::gpu {

// Where the matrices lie on the device, with leading dimensions in elements.
struct GemmOperands {
  std::uint64_t a = 0;
  std::int64_t lda = 0;
  std::uint64_t b = 0;
  std::int64_t ldb = 0;
  std::uint64_t c = 0;
  std::int64_t ldc = 0;
  float alpha = 1;
  float beta = 0;
  std::uint64_t scratch = 0;
};

class GemmArguments {
 public:
  // Throws DriverError when the driver makes no tensor map of an operand.
  GemmArguments(const Driver& driver, const LaunchGeometry& geometry, const GemmProblem& problem,
                const GemmOperands& operands);
  GemmArguments(const GemmArguments&) = delete;
  GemmArguments& operator=(const GemmArguments&) = delete;

  // For Kernel::launch(). A kernel without tensor maps has no arguments for them: the driver does
  // not look at what is left over.
  [[nodiscard]] void** pointers() { return pointers_.data(); }

 private:
  struct alignas(64) TensorMap {
    std::array<std::byte, 128> bytes;
  };

  GemmOperands operands_;
  std::int64_t m_, n_, k_;
  std::uint32_t raster_;
  TensorMap map_a_{};
  TensorMap map_b_{};
  std::array<void*, 15> pointers_;
};

}  // namespace autotune::gpu
