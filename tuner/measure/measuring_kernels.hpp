// The kernels that a GPU's measuring worker checks results with, each compiled when it is first needed.
// All calls must come from one thread, with the context current that they are loaded into.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cpu/compiler.hpp"
#include "cpu/launcher.hpp"
#include "gpu/module.hpp"
#include "gpu/nvrtc.hpp"
#include "operation/problem_data.hpp"
#include "tuner/measure/cpu_workspace.hpp"
#include "tuner/measure/verification_kernels.hpp"

namespace autotune {

class MeasuringKernels {
 public:
  MeasuringKernels(const gpu::Driver& driver, const gpu::Nvrtc& nvrtc, std::string target)
      : driver_(driver), nvrtc_(nvrtc), target_(std::move(target)) {}

  [[nodiscard]] const gpu::Driver& driver() const { return driver_; }
  const VerificationKernels& of(ElementType type);
  const ReferenceKernels& of(const ReferenceCode& code);
  const ToleranceKernels& tolerances_of(ElementType type);

  // The kernel that gives what is expected. Throws EnvironmentError if it does not compile.
  struct Reference {
    LaunchedReference description;
    std::unique_ptr<gpu::Module> module;
    gpu::Kernel kernel;
  };
  const Reference& of(const LaunchedReference& reference);
  // The same for a function of the host, and what launches its copies of the data.
  const CpuLaunchedReference& on_host(const LaunchedReference& reference);
  CpuLauncher& host_launcher();

 private:
  const gpu::Driver& driver_;
  const gpu::Nvrtc& nvrtc_;
  std::string target_;
  std::map<ElementType, VerificationKernels> of_types_;
  std::map<ElementType, ToleranceKernels> tolerances_of_types_;
  std::map<ReferenceCode, ReferenceKernels> references_;
  std::optional<Reference> launched_reference_;  // of the last problem that has one
  // These are made when a reference on the host is first needed.
  std::optional<CpuCompiler> host_compiler_;
  std::optional<CpuLauncher> host_launcher_;
  std::optional<CpuLaunchedReference> host_reference_;
};

}  // namespace autotune
