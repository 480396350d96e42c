#include "tuner/measure/verification_kernels.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"
#include "tuner/measure/verification.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_measuring_kernels();

namespace {

constexpr std::int64_t kThreads = 256;      // of a block, as the kernels have it
constexpr std::int64_t kFillBlocks = 4096;  // at most; every thread takes several elements
constexpr std::int64_t kTile = 64;          // rows and columns of C of a block of the reference

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::int64_t fill_blocks(std::int64_t count) {
  return std::min(ceil_div(count, kThreads), kFillBlocks);
}

std::int64_t tiles(std::int64_t m, std::int64_t n) {
  return ceil_div(m, kTile) * ceil_div(n, kTile);
}

// The arguments must have the very types of the kernel's parameters.
template <typename... Arguments>
void launch(const gpu::Kernel& kernel, std::int64_t blocks, const gpu::Stream& stream,
            Arguments... arguments) {
  void* pointers[] = {&arguments...};
  kernel.launch({.grid = {blocks, 1, 1}, .block = {kThreads, 1, 1}}, pointers, stream);
}

}  // namespace

std::unique_ptr<gpu::Module> load_measuring_kernels(const gpu::Driver& driver,
                                                    const gpu::Nvrtc& nvrtc,
                                                    const std::string& target,
                                                    std::string_view file) {
  const auto files = embedded_measuring_kernels();
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const EmbeddedFile& one) { return one.name == file; });
  if (found == files.end()) throw Error(fmt::format("{} is not in the program", file));
  const gpu::CompileResult compiled =
      nvrtc.compile(std::string(file), std::string(found->text), {"-arch=" + target});
  if (!compiled.ok) {
    throw EnvironmentError(fmt::format("NVRTC {} does not compile {}: {}", nvrtc.build(), file,
                                       compiled.log.substr(0, compiled.log.find('\n'))));
  }
  return std::make_unique<gpu::Module>(driver, compiled.image);
}

VerificationKernels::VerificationKernels(const gpu::Driver& driver, const gpu::Nvrtc& nvrtc,
                                         const std::string& target)
    : module_(load_measuring_kernels(driver, nvrtc, target, "verification.cu")),
      fill_integers_(module_->kernel("fill_integers")),
      fill_uniform_(module_->kernel("fill_uniform")),
      fill_linear_(module_->kernel("fill_linear")),
      reference_integers_(module_->kernel("reference_integers")),
      reference_real_(module_->kernel("reference_real")),
      check_integers_(module_->kernel("check_integers")),
      check_real_(module_->kernel("check_real")) {}

void VerificationKernels::fill_integers(std::uint64_t out, std::int64_t count, std::uint64_t seed,
                                        const gpu::Stream& stream) const {
  launch(fill_integers_, fill_blocks(count), stream, out, count, seed);
}

void VerificationKernels::fill_uniform(std::uint64_t out, std::int64_t count, std::uint64_t seed,
                                       const gpu::Stream& stream) const {
  launch(fill_uniform_, fill_blocks(count), stream, out, count, seed);
}

void VerificationKernels::fill_linear(std::uint64_t out, std::int64_t count, double first,
                                      double last, const gpu::Stream& stream) const {
  launch(fill_linear_, fill_blocks(count), stream, out, count, first, last);
}

void VerificationKernels::reference_integers(const View& a, const View& b, std::int64_t m,
                                             std::int64_t n, std::int64_t k, std::uint64_t sums,
                                             const gpu::Stream& stream) const {
  launch(reference_integers_, tiles(m, n), stream, a, b, m, n, k, sums);
}

void VerificationKernels::reference_real(const View& a, const View& b, std::int64_t m,
                                         std::int64_t n, std::int64_t k, std::uint64_t sums,
                                         std::uint64_t magnitudes,
                                         const gpu::Stream& stream) const {
  launch(reference_real_, tiles(m, n), stream, a, b, m, n, k, sums, magnitudes);
}

void VerificationKernels::check_integers(const Area& area, std::uint64_t expected,
                                         std::uint64_t findings, const gpu::Stream& stream) const {
  launch(check_integers_, kFindings, stream, area, expected, findings);
}

void VerificationKernels::check_real(const Area& area, std::uint64_t expected,
                                     std::uint64_t magnitudes, double bound, std::uint64_t findings,
                                     const gpu::Stream& stream) const {
  launch(check_real_, kFindings, stream, area, expected, magnitudes, kUnitRoundoff, bound,
         findings);
}

}  // namespace autotune
