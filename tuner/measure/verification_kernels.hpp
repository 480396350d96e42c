// The device code of verification (the files of tuner/measure/kernels and the operations'
// references), ready to launch. Everything is asynchronous on the stream given. Belongs to the
// context in which it was made, and to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/module.hpp"
#include "gpu/nvrtc.hpp"
#include "operation/problem_data.hpp"

namespace autotune {

// Compiles CUDA C++ for `target`, which compile_target() gives, with macros NAME=VALUE, and loads
// it. Throws EnvironmentError when the compiler or the driver does not accept it.
[[nodiscard]] std::unique_ptr<gpu::Module> load_measuring_kernels(
    const gpu::Driver& driver, const gpu::Nvrtc& nvrtc, const std::string& target,
    const std::string& name, std::string_view source, const std::vector<std::string>& macros);
// The text of a file of tuner/measure/kernels/ that is compiled behind check.cuh, with it.
[[nodiscard]] std::string check_source(std::string_view file);
// The text of a file of tuner/measure/kernels/.
[[nodiscard]] std::string_view measuring_source(std::string_view file);

// The output between its guard zones, which have `guard` words of 4 bytes each. A word that was not
// written is `poison`. `count` elements belong to matrices of `of_matrix` elements, which begin
// `stride` elements apart; what lies between them must not be written either.
struct CheckedArea {
  std::uint64_t elements;
  std::int64_t count;
  std::int64_t of_matrix;
  std::int64_t stride;
  std::uint64_t before;
  std::uint64_t behind;
  std::int64_t guard;
  std::uint32_t poison;
};

// The kernels for one element type. Addresses are device addresses.
class VerificationKernels {
 public:
  using Area = CheckedArea;
  // The number of findings that a check writes, 48 bytes each (tuner/measure/verification.hpp).
  static constexpr std::int64_t kFindings = 1024;

  VerificationKernels(const gpu::Driver& driver, const gpu::Nvrtc& nvrtc, const std::string& target,
                      ElementType type);

  void fill_integers(std::uint64_t out, std::int64_t count, std::uint64_t seed,
                     const gpu::Stream& stream) const;
  void fill_uniform(std::uint64_t out, std::int64_t count, std::uint64_t seed,
                    const gpu::Stream& stream) const;
  void fill_linear(std::uint64_t out, std::int64_t count, double first, double last,
                   const gpu::Stream& stream) const;

  void check_integers(const Area& area, std::uint64_t expected, std::uint64_t findings,
                      const gpu::Stream& stream) const;
  void check_real(const Area& area, std::uint64_t expected, std::uint64_t magnitudes, double bound,
                  std::uint64_t findings, const gpu::Stream& stream) const;

 private:
  double unit_roundoff_;
  std::unique_ptr<gpu::Module> module_;
  gpu::Kernel fill_integers_, fill_uniform_, fill_linear_;
  gpu::Kernel check_integers_, check_real_;
};

// The kernels for one element type that judge by tolerances. The checks write
// VerificationKernels::kFindings findings.
class ToleranceKernels {
 public:
  ToleranceKernels(const gpu::Driver& driver, const gpu::Nvrtc& nvrtc, const std::string& target,
                   ElementType type);

  // `expected` has the elements without gaps between matrices. Elements beyond the tolerance are
  // wrong.
  void check(const CheckedArea& area, std::uint64_t expected, const Tolerance& tolerance,
             std::uint64_t findings, const gpu::Stream& stream) const;
  // Elements that were not written are wrong.
  void check_written(const CheckedArea& area, std::uint64_t findings,
                     const gpu::Stream& stream) const;
  // Adds a number that depends on all of `bytes` bytes to the 8 bytes at `sum`.
  void add_up(std::uint64_t data, std::int64_t bytes, std::uint64_t sum,
              const gpu::Stream& stream) const;

 private:
  std::unique_ptr<gpu::Module> module_;
  gpu::Kernel check_, check_written_, add_up_;
};

// The reference of one operation, for tensors of certain types.
class ReferenceKernels {
 public:
  ReferenceKernels(const gpu::Driver& driver, const gpu::Nvrtc& nvrtc, const std::string& target,
                   const ReferenceCode& code);

  // `inputs` and `outputs` are device addresses. Operation::reference_source defines what is
  // written to the outputs.
  void integers(const ProblemData::Reference& reference, std::span<const std::uint64_t> inputs,
                std::span<const std::uint64_t> outputs, const gpu::Stream& stream) const {
    launch(integers_, reference, inputs, outputs, stream);
  }
  void reals(const ProblemData::Reference& reference, std::span<const std::uint64_t> inputs,
             std::span<const std::uint64_t> outputs, const gpu::Stream& stream) const {
    launch(reals_, reference, inputs, outputs, stream);
  }

 private:
  static void launch(const gpu::Kernel& kernel, const ProblemData::Reference& reference,
                     std::span<const std::uint64_t> inputs, std::span<const std::uint64_t> outputs,
                     const gpu::Stream& stream);

  std::unique_ptr<gpu::Module> module_;
  gpu::Kernel integers_, reals_;
};

}  // namespace autotune
