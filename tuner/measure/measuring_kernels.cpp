#include "tuner/measure/measuring_kernels.hpp"

#include <algorithm>
#include <vector>

#include "core/compiler_log.hpp"
#include "tuner/measure/tensor_data.hpp"

namespace autotune {

const VerificationKernels& MeasuringKernels::of(ElementType type) {
  return of_types_.try_emplace(type, driver_, nvrtc_, target_, type).first->second;
}

const ReferenceKernels& MeasuringKernels::of(const ReferenceCode& code) {
  return references_.try_emplace(code, driver_, nvrtc_, target_, code).first->second;
}

const ToleranceKernels& MeasuringKernels::tolerances_of(ElementType type) {
  return tolerances_of_types_.try_emplace(type, driver_, nvrtc_, target_, type).first->second;
}

const MeasuringKernels::Reference& MeasuringKernels::of(const LaunchedReference& reference) {
  if (launched_reference_ && launched_reference_->description == reference) {
    return *launched_reference_;
  }
  std::vector<std::string> options = reference.options;
  const auto names_target = [](const std::string& one) { return one.starts_with("-arch="); };
  if (std::ranges::none_of(options, names_target)) options.push_back("-arch=" + target_);
  const gpu::CompileResult compiled = nvrtc_.compile(reference.name, reference.source, options);
  if (!compiled.ok) {
    throw reference_fault(reference.name, "it does not compile: " + first_error_line(compiled.log));
  }
  auto module = std::make_unique<gpu::Module>(driver_, compiled.image);
  const gpu::Kernel kernel = module->kernel(reference.name);
  return launched_reference_.emplace(Reference{reference, std::move(module), kernel});
}

const CpuLaunchedReference& MeasuringKernels::on_host(const LaunchedReference& reference) {
  if (host_reference_ && host_reference_->description() == reference) return *host_reference_;
  const auto compiler = [this]() -> const CpuCompiler& {
    if (!host_compiler_) host_compiler_.emplace();
    return *host_compiler_;
  };
  return host_reference_.emplace(compiler, host_launcher(), reference);
}

CpuLauncher& MeasuringKernels::host_launcher() {
  if (!host_launcher_) host_launcher_.emplace();
  return *host_launcher_;
}

}  // namespace autotune
