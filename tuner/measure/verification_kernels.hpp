// The device code of verification (tuner/kernels/verification.cu), ready to launch. Everything is
// asynchronous on the stream given. Belongs to the context in which it was made, and to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gpu/module.hpp"
#include "gpu/nvrtc.hpp"

namespace autotune {

// Compiles a file of tuner/kernels/ for `target` (what compile_target() gives) and loads it. Throws
// EnvironmentError when this compiler or this driver does not take it.
[[nodiscard]] std::unique_ptr<gpu::Module> load_measuring_kernels(const gpu::Driver& driver,
                                                                  const gpu::Nvrtc& nvrtc,
                                                                  const std::string& target,
                                                                  std::string_view file);

// Addresses are the device's.
class VerificationKernels {
 public:
  // An operand as memory holds it: element (i, j) of op(X) is at data + 4 (i row + j column) bytes.
  struct View {
    std::uint64_t data;
    std::int64_t row;
    std::int64_t column;
  };
  // C with the guard zones around it, in words of 4 bytes: C is `count` of `total` words, from word
  // `front` on. Words that nobody wrote are `poison`.
  struct Area {
    std::uint64_t words;
    std::int64_t front;
    std::int64_t count;
    std::int64_t total;
    std::uint32_t poison;
  };
  // Findings that one check writes, 48 bytes each (tuner/verification.hpp).
  static constexpr std::int64_t kFindings = 1024;

  VerificationKernels(const gpu::Driver& driver, const gpu::Nvrtc& nvrtc,
                      const std::string& target);

  void fill_integers(std::uint64_t out, std::int64_t count, std::uint64_t seed,
                     const gpu::Stream& stream) const;
  void fill_uniform(std::uint64_t out, std::int64_t count, std::uint64_t seed,
                    const gpu::Stream& stream) const;
  void fill_linear(std::uint64_t out, std::int64_t count, double first, double last,
                   const gpu::Stream& stream) const;

  // sums: m x n of FP32, for operands of small integers.
  void reference_integers(const View& a, const View& b, std::int64_t m, std::int64_t n,
                          std::int64_t k, std::uint64_t sums, const gpu::Stream& stream) const;
  // sums: m x n of FP64; magnitudes: |op(A)| |op(B)|, m x n of FP32.
  void reference_real(const View& a, const View& b, std::int64_t m, std::int64_t n, std::int64_t k,
                      std::uint64_t sums, std::uint64_t magnitudes,
                      const gpu::Stream& stream) const;

  void check_integers(const Area& area, std::uint64_t expected, std::uint64_t findings,
                      const gpu::Stream& stream) const;
  void check_real(const Area& area, std::uint64_t expected, std::uint64_t magnitudes, double bound,
                  std::uint64_t findings, const gpu::Stream& stream) const;

 private:
  std::unique_ptr<gpu::Module> module_;
  gpu::Kernel fill_integers_, fill_uniform_, fill_linear_;
  gpu::Kernel reference_integers_, reference_real_;
  gpu::Kernel check_integers_, check_real_;
};

}  // namespace autotune
