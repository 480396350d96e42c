// Says whether a kernel computes C = alpha op(A) op(B) + beta C to the bit and touches nothing
// else, for operands with padding, at any alignment. Its code and its data are its own: nothing of
// it is used by the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autotune/problem.hpp"

#include "core/launch_geometry.hpp"
#include "gpu/memory.hpp"
#include "gpu/module.hpp"
#include "gpu/workspace.hpp"
#include "kernel_templates/kernel_template.hpp"
#include "operation/gemm/gemm.hpp"
#include "tests/device/gpu_fixture.hpp"

namespace autotune {

struct GemmCase {
  GemmProblem problem;
  float alpha = 1;
  float beta = 0;
  // Elements behind each row of A; one more of B, two more of C. A multiple of whole_vector(): one
  // and two of these more.
  std::int64_t padding = 0;
  std::int64_t offset = 0;  // elements by which all three are off the alignment of 256 bytes

  [[nodiscard]] std::int64_t lda() const { return problem.lda() + padding; }
  [[nodiscard]] std::int64_t ldb() const { return problem.ldb() + more_padding(1); }
  [[nodiscard]] std::int64_t ldc() const { return problem.ldc() + more_padding(2); }
  [[nodiscard]] std::int64_t more_padding(std::int64_t steps) const {
    if (padding == 0) return 0;
    return padding + steps * (padding % whole_vector() == 0 ? whole_vector() : 1);
  }
  // The elements of 16 bytes.
  [[nodiscard]] std::int64_t whole_vector() const { return 16 / size_bytes(problem.types.a); }
};
[[nodiscard]] std::string to_string(const GemmCase& gemm);

// The kernels that the oracle is made of, loaded once. The device's context must be current.
class Oracle {
 public:
  Oracle(const Gpu& gpu, const gpu::Stream& stream);

  [[nodiscard]] const gpu::Driver& driver() const { return stream_.driver(); }
  [[nodiscard]] const gpu::Stream& stream() const { return stream_; }
  [[nodiscard]] std::uint64_t scratch(const LaunchGeometry& geometry) const {
    return scratch_.reserve(geometry.workspace_bytes(), stream_.handle());
  }

 private:
  friend class PreparedCase;
  const gpu::Stream& stream_;
  gpu::Module module_;
  gpu::Kernel fill_, place_, expect_, copy_, compare_;
  mutable gpu::Workspace scratch_;
};

// A case on the device: its operands, C as it is before and as it must be afterwards.
class PreparedCase {
 public:
  PreparedCase(const Oracle& oracle, const GemmCase& gemm);

  // Returns whether CodeTraits::aligned holds for the operands.
  [[nodiscard]] bool is_aligned() const {
    const std::int64_t vector = gemm_.whole_vector();
    return unpadded_traits(gemm_operation(), gemm_.problem).aligned && gemm_.offset % vector == 0 &&
           gemm_.lda() % vector == 0 && gemm_.ldb() % vector == 0 && gemm_.ldc() % vector == 0;
  }
  // Runs a kernel of this signature. Returns how many words of C and of what lies around it
  // are not as they must be.
  [[nodiscard]] std::int64_t mismatches(const gpu::Kernel& kernel, const KernelSignature& signature,
                                        const LaunchGeometry& geometry) const;
  [[nodiscard]] const GemmCase& gemm() const { return gemm_; }

 private:
  const Oracle& oracle_;
  GemmCase gemm_;
  gpu::DeviceBuffer a_, b_;
  gpu::DeviceBuffer before_, expected_, c_;  // with what lies around C
  gpu::DeviceBuffer count_;
};

}  // namespace autotune
