#include "tuner/measure/gpu_measurer.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "autotune/error.hpp"

#include "core/compile_target.hpp"
#include "gpu/cublas.hpp"
#include "gpu/device.hpp"
#include "gpu/gemm_arguments.hpp"
#include "gpu/nvml.hpp"
#include "gpu/workspace.hpp"
#include "tuner/measure/calibration.hpp"
#include "tuner/measure/gpu_workspace.hpp"
#include "tuner/measure/launch_timer.hpp"
#include "tuner/measure/module_cache.hpp"
#include "tuner/measure/verification.hpp"
#include "tuner/measure/verification_kernels.hpp"

namespace autotune {
namespace {

constexpr std::size_t kFindings = VerificationKernels::kFindings;
constexpr std::size_t kFindingsBytes = kFindings * sizeof(Finding);

void launch_gemm(const gpu::Driver& driver, const gpu::Kernel& kernel,
                 const MeasureRequest& request, const LaunchGeometry& geometry,
                 const DeviceOperands& operands, std::uint64_t scratch, const gpu::Stream& stream) {
  const auto [a, b, c] = operands;
  const GemmProblem& problem = request.problem;
  gpu::GemmArguments arguments(driver, geometry, problem,
                               {.a = a,
                                .lda = problem.lda(),
                                .b = b,
                                .ldb = problem.ldb(),
                                .c = c,
                                .ldc = problem.ldc(),
                                .scratch = scratch});
  kernel.launch(geometry, arguments.pointers(), stream);
}

}  // namespace

struct GpuMeasurer::Objects {
  Objects(const gpu::Driver& driver, const gpu::Nvrtc& nvrtc, const DeviceInfo& device)
      : stream(driver),
        kernels(driver, nvrtc, compile_target(device, nvrtc.architectures())),
        workspaces(driver, kernels, stream),
        modules(driver),
        scratch(driver),
        findings(driver, 2 * kFindingsBytes),
        host_findings(driver, 2 * kFindingsBytes),
        events{gpu::Event(driver), gpu::Event(driver), gpu::Event(driver), gpu::Event(driver)},
        nvml(gpu::Nvml::open(device.uuid)) {}

  // The findings of the first checks of a phase, once the device has finished it.
  std::vector<Finding> read_findings(std::size_t checks) const {
    findings.copy_to_host(host_findings.data(), checks * kFindingsBytes, stream);
    stream.synchronize();
    const std::span<const Finding> all(static_cast<const Finding*>(host_findings.data()),
                                       checks * kFindings);
    std::vector<Finding> result;
    for (std::size_t i = 0; i < checks; ++i) {
      result.push_back(merged(all.subspan(i * kFindings, kFindings)));
    }
    return result;
  }

  gpu::Stream stream;
  VerificationKernels kernels;
  WorkspaceCache workspaces;
  ModuleCache modules;
  gpu::Workspace scratch;
  gpu::DeviceBuffer findings;  // of two checks
  gpu::PinnedBuffer host_findings;
  std::array<gpu::Event, 4> events;
  std::optional<gpu::Nvml> nvml;
  std::unique_ptr<const gpu::Cublas> cublas;
  std::unique_ptr<const gpu::Module> calibration;
};

struct GpuMeasurer::Run {
  const MeasureRequest& request;
  MeasureReply& reply;
  const GpuWorkspace& workspace;
  std::optional<gpu::Kernel> kernel = std::nullopt;  // none: cuBLAS is what is measured
  LaunchGeometry geometry = request.geometry;
  std::uint64_t scratch = 0;
  double estimate_us = 0;

  // Takes over what a check gave; false when it was not ok.
  bool accept(CheckOutcome outcome) {
    if (outcome.ok()) return true;
    reply.status = outcome.status;
    reply.detail = std::move(outcome.detail);
    return false;
  }
};

GpuMeasurer::GpuMeasurer(int ordinal, std::shared_ptr<const gpu::Nvrtc> nvrtc)
    : nvrtc_(std::move(nvrtc)),
      driver_(gpu::Driver::open()),
      device_(gpu::read_device(*driver_, ordinal)),
      context_(driver_, ordinal) {
  const gpu::ContextGuard guard(context_);
  objects_ = std::make_unique<Objects>(*driver_, *nvrtc_, device_);
}

GpuMeasurer::~GpuMeasurer() {
  try {
    const gpu::ContextGuard guard(context_);
    objects_.reset();
  } catch (const gpu::DriverError&) {
    // The context is gone, and what was in it with it.
  }
}

MeasureReply GpuMeasurer::measure(const MeasureRequest& request) {
  const gpu::ContextGuard guard(context_);
  MeasureReply reply;
  const GpuWorkspace* workspace = objects_->workspaces.find_or_make(request, reply.detail);
  if (workspace == nullptr) {
    reply.status = TrialStatus::out_of_memory;
    return reply;
  }
  // What goes wrong from here on is the candidate's doing.
  TrialStatus failure = TrialStatus::load_failed;
  try {
    Run run{request, reply, *workspace};
    load(run);
    failure = TrialStatus::launch_failed;
    measure(run);
  } catch (const Error& error) {
    const auto* fault = dynamic_cast<const gpu::DriverError*>(&error);
    const bool no_memory = fault != nullptr && gpu::is_out_of_memory(fault->code());
    reply = {};
    reply.status = no_memory ? TrialStatus::out_of_memory : failure;
    reply.detail = error.what();
    reply.poisoned = is_poisoned(error);
  }
  const bool wrote_elsewhere =
      reply.status == TrialStatus::wrong_result || reply.status == TrialStatus::out_of_bounds;
  if (wrote_elsewhere) objects_->workspaces.discard_last();
  if (reply.status != TrialStatus::ok) objects_->scratch.discard();
  return reply;
}

// A fault leaves a context in which every call fails, whether or not its code is one of those that
// cuda.h says so of.
bool GpuMeasurer::is_poisoned(const Error& error) const {
  const auto* fault = dynamic_cast<const gpu::DriverError*>(&error);
  if (fault != nullptr && gpu::poisons_process(fault->code())) return true;
  try {
    objects_->stream.synchronize();
    return false;
  } catch (const gpu::DriverError&) {
    return true;
  }
}

CalibrateReply GpuMeasurer::calibrate() {
  const gpu::ContextGuard guard(context_);
  std::unique_ptr<const gpu::Module>& module = objects_->calibration;
  if (!module) {
    module = load_measuring_kernels(
        *driver_, *nvrtc_, compile_target(device_, nvrtc_->architectures()), "calibration.cu");
  }
  return calibrate_gpu(device_, *module, objects_->stream);
}

void GpuMeasurer::load(Run& run) {
  const MeasureRequest& request = run.request;
  if (request.baseline.empty()) {
    run.kernel = objects_->modules.load(request.cubin, request.kernel_name);
    return;
  }
  if (request.baseline != "cublas") throw Error("no such baseline: " + request.baseline);
  std::unique_ptr<const gpu::Cublas>& cublas = objects_->cublas;
  if (!cublas) cublas = std::make_unique<gpu::Cublas>(*driver_, objects_->stream);
  run.reply.detail = cublas->version();
}

void GpuMeasurer::measure(Run& run) {
  if (run.kernel) {
    run.geometry = run.request.geometry.on_device(device_.sm_count);
    run.kernel->allow_dynamic_shared(run.geometry.dynamic_shared_bytes);
    run.scratch =
        objects_->scratch.reserve(run.geometry.workspace_bytes(), objects_->stream.handle());
  }
  const bool verifying = run.request.verify;
  if (verifying && !verify(run)) return;
  if (run.request.samples == 0) return;
  if (time(run) && verifying) verify_again(run);
}

void GpuMeasurer::launch(const Run& run, const DeviceOperands& operands) {
  if (run.kernel) {
    launch_gemm(*driver_, *run.kernel, run.request, run.geometry, operands, run.scratch,
                objects_->stream);
  } else {
    const GemmProblem& p = run.request.problem;
    objects_->cublas->sgemm(p, 1, operands.a, p.lda(), operands.b, p.ldb(), 0, operands.c, p.ldc());
  }
}

// On both sets of data, each launch on its own. The launches warm up and give a first estimate of
// the time.
bool GpuMeasurer::verify(Run& run) {
  const auto& events = objects_->events;
  const gpu::Stream& stream = objects_->stream;
  const std::uint64_t findings = objects_->findings.address();
  run.workspace.poison();
  events[0].record(stream);
  launch(run, run.workspace.integers());
  events[1].record(stream);
  run.workspace.check_integers(findings);
  run.workspace.poison();
  events[2].record(stream);
  launch(run, run.workspace.reals());
  events[3].record(stream);
  run.workspace.check_reals(findings + kFindingsBytes);

  const std::vector<Finding> found = objects_->read_findings(2);
  run.estimate_us =
      std::min(events[1].elapsed_us_since(events[0]), events[3].elapsed_us_since(events[2]));
  Verification& verification = run.reply.verification;
  verification.error_bound = error_bound(run.request.problem.k, run.request.input);
  verification.max_error_ratio = found[1].max_error_ratio;
  verification.frobenius_error = frobenius_error(found[1]);
  verification.integers_exact =
      run.accept(outcome_of(found[0], run.request.problem, "on integers"));
  return verification.integers_exact &&
         run.accept(outcome_of(found[1], run.request.problem, "on random data"));
}

// False when the estimate alone puts the candidate out of the running.
bool GpuMeasurer::time(Run& run) {
  const MeasureRequest& request = run.request;
  const TimingPlan plan{.samples = request.samples,
                        .min_sample_us = request.min_sample_us,
                        .launches_per_sample = request.launches_per_sample,
                        .stop_above_us = request.stop_above_us};
  const LaunchTimer timer(
      objects_->stream, [&] { launch(run, run.workspace.reals()); },
      objects_->nvml ? &*objects_->nvml : nullptr);
  if (!request.verify) run.estimate_us = timer.estimate_us();
  if (const auto screened = screened_out(plan, run.estimate_us)) {
    run.reply.measurement = *screened;
    return false;
  }
  run.workspace.poison();  // so that launches that do nothing any more are found out
  run.reply.measurement = timer.measure(plan, run.estimate_us);
  return true;
}

// What the last of the timed launches left.
void GpuMeasurer::verify_again(Run& run) {
  run.workspace.check_reals(objects_->findings.address());
  const Finding found = objects_->read_findings(1).front();
  run.accept(outcome_of(found, run.request.problem, "after repeated launches"));
}

}  // namespace autotune
