#include "tuner/measure/verification_kernels.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_measuring_kernels();

namespace {

constexpr std::int64_t kThreads = 256;      // per block, as the kernels assume
constexpr std::int64_t kFillBlocks = 4096;  // at most; every thread takes several elements

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::int64_t fill_blocks(std::int64_t count) {
  return std::min(ceil_div(count, kThreads), kFillBlocks);
}

// The arguments must have exactly the types of the kernel's parameters.
template <typename... Arguments>
void launch(const gpu::Kernel& kernel, std::int64_t blocks, const gpu::Stream& stream,
            Arguments... arguments) {
  void* pointers[] = {&arguments...};
  kernel.launch({.grid = {blocks, 1, 1}, .block = {kThreads, 1, 1}}, pointers, stream);
}

// A file of kernels for elements of a type, with all that is compiled before it.
std::unique_ptr<gpu::Module> load_for(ElementType type, const char* file, const gpu::Driver& driver,
                                      const gpu::Nvrtc& nvrtc, const std::string& target) {
  return load_measuring_kernels(driver, nvrtc, target, file, check_source(file),
                                {std::string("ELEMENT=") + info(type).cuda_name});
}

}  // namespace

std::string check_source(std::string_view file) {
  return std::string(element_source()) + std::string(measuring_source("check.cuh")) +
         std::string(measuring_source(file));
}

std::string_view measuring_source(std::string_view file) {
  const auto files = embedded_measuring_kernels();
  const auto found =
      std::ranges::find_if(files, [&](const EmbeddedFile& one) { return one.name == file; });
  if (found == files.end()) throw Error(fmt::format("{} is not in the program", file));
  return found->text;
}

std::unique_ptr<gpu::Module> load_measuring_kernels(
    const gpu::Driver& driver, const gpu::Nvrtc& nvrtc, const std::string& target,
    const std::string& name, std::string_view source, const std::vector<std::string>& macros) {
  std::vector<std::string> options = {"-arch=" + target};
  for (const std::string& macro : macros) options.push_back("-D" + macro);
  const gpu::CompileResult compiled = nvrtc.compile(name, std::string(source), options);
  if (!compiled.ok) {
    throw EnvironmentError(fmt::format("NVRTC {} does not compile {}: {}", nvrtc.build(), name,
                                       compiled.log.substr(0, compiled.log.find('\n'))));
  }
  return std::make_unique<gpu::Module>(driver, compiled.image);
}

VerificationKernels::VerificationKernels(const gpu::Driver& driver, const gpu::Nvrtc& nvrtc,
                                         const std::string& target, ElementType type)
    : unit_roundoff_(info(type).unit_roundoff),
      module_(load_for(type, "verification.cu", driver, nvrtc, target)),
      fill_integers_(module_->kernel("fill_integers")),
      fill_uniform_(module_->kernel("fill_uniform")),
      fill_linear_(module_->kernel("fill_linear")),
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

void VerificationKernels::check_integers(const Area& area, std::uint64_t expected,
                                         std::uint64_t findings, const gpu::Stream& stream) const {
  launch(check_integers_, kFindings, stream, area, expected, findings);
}

void VerificationKernels::check_real(const Area& area, std::uint64_t expected,
                                     std::uint64_t magnitudes, double bound, std::uint64_t findings,
                                     const gpu::Stream& stream) const {
  launch(check_real_, kFindings, stream, area, expected, magnitudes, unit_roundoff_, bound,
         findings);
}

ToleranceKernels::ToleranceKernels(const gpu::Driver& driver, const gpu::Nvrtc& nvrtc,
                                   const std::string& target, ElementType type)
    : module_(load_for(type, "tolerance.cu", driver, nvrtc, target)),
      check_(module_->kernel("check_tolerance")),
      check_written_(module_->kernel("check_written")),
      add_up_(module_->kernel("add_up")) {}

void ToleranceKernels::check(const CheckedArea& area, std::uint64_t expected,
                             const Tolerance& tolerance, std::uint64_t findings,
                             const gpu::Stream& stream) const {
  launch(check_, VerificationKernels::kFindings, stream, area, expected, tolerance.absolute,
         tolerance.relative, findings);
}

void ToleranceKernels::check_written(const CheckedArea& area, std::uint64_t findings,
                                     const gpu::Stream& stream) const {
  launch(check_written_, VerificationKernels::kFindings, stream, area, findings);
}

void ToleranceKernels::add_up(std::uint64_t data, std::int64_t bytes, std::uint64_t sum,
                              const gpu::Stream& stream) const {
  launch(add_up_, fill_blocks(ceil_div(bytes, 2)), stream, data, bytes, sum);
}

ReferenceKernels::ReferenceKernels(const gpu::Driver& driver, const gpu::Nvrtc& nvrtc,
                                   const std::string& target, const ReferenceCode& code)
    : module_(
          load_measuring_kernels(driver, nvrtc, target, "reference.cu", code.text, code.macros)),
      integers_(module_->kernel("reference_integers")),
      reals_(module_->kernel("reference_real")) {}

void ReferenceKernels::launch(const gpu::Kernel& kernel, const ProblemData::Reference& reference,
                              std::span<const std::uint64_t> inputs,
                              std::span<const std::uint64_t> outputs, const gpu::Stream& stream) {
  ReferenceArguments arguments(reference, inputs, outputs);
  kernel.launch(reference_geometry(reference), arguments.pointers(), stream);
}

}  // namespace autotune
