#include "tuner/measure/gpu_backend.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "core/compile_target.hpp"
#include "gpu/baseline.hpp"
#include "gpu/device.hpp"
#include "gpu/kernel_arguments.hpp"
#include "gpu/memory.hpp"
#include "gpu/nvml.hpp"
#include "gpu/workspace.hpp"
#include "tuner/measure/calibration.hpp"
#include "tuner/measure/gpu_workspace.hpp"
#include "tuner/measure/launch_timer.hpp"
#include "tuner/measure/module_cache.hpp"

namespace autotune {
namespace {

constexpr std::size_t kFindings = VerificationKernels::kFindings;
constexpr std::size_t kFindingsBytes = kFindings * sizeof(Finding);

}  // namespace

struct GpuBackend::Objects {
  Objects(const gpu::Driver& driver, const gpu::Nvrtc& nvrtc, const DeviceInfo& device)
      : target(compile_target(device, nvrtc.architectures())),
        stream(driver),
        kernels(driver, nvrtc, target),
        workspaces(kernels, stream, device),
        modules(driver),
        workspace(driver),
        findings(driver, kFindingsBytes),
        host_findings(driver, kFindingsBytes),
        start(driver),
        end(driver),
        nvml(gpu::Nvml::open(device.uuid)) {}

  std::string target;
  gpu::Stream stream;
  MeasuringKernels kernels;
  WorkspaceCache workspaces;
  ModuleCache modules;
  gpu::Workspace workspace;  // for the kernels
  gpu::DeviceBuffer findings;
  gpu::PinnedBuffer host_findings;
  gpu::Event start, end;
  std::optional<gpu::Nvml> nvml;
  std::map<std::string, std::unique_ptr<gpu::Baseline>> baselines;
  std::unique_ptr<const gpu::Module> calibration;
  std::optional<LimitingRates> limits;  // once they were measured
};

struct GpuBackend::Loaded {
  GpuWorkspace& tensors;
  Problem problem;
  ProblemData data;
  ArgumentLayout arguments = ArgumentLayout();
  LaunchGeometry geometry;
  std::uint64_t workspace = 0;
  std::optional<gpu::Kernel> kernel;  // either this or the baseline is set
  gpu::Baseline* baseline = nullptr;
  int algorithm = 0;  // the baseline's
};

GpuBackend::GpuBackend(int ordinal, std::shared_ptr<const gpu::Nvrtc> nvrtc)
    : nvrtc_(std::move(nvrtc)),
      driver_(gpu::Driver::open()),
      device_(gpu::read_device(*driver_, ordinal)),
      context_(driver_, ordinal) {
  const gpu::ContextGuard guard = enter();
  objects_ = std::make_unique<Objects>(*driver_, *nvrtc_, device_);
}

GpuBackend::~GpuBackend() {
  try {
    const gpu::ContextGuard guard = enter();
    objects_.reset();
  } catch (const gpu::DriverError&) {
    // The context may be gone, with everything in it, so errors are ignored.
  }
}

void GpuBackend::compile_kernels(const ProblemData& data) {
  try {
    MeasuringKernels& kernels = objects_->kernels;
    for (const TensorDesc& tensor : data.tensors) {
      kernels.of(tensor.type);
      if (data.has_tolerances()) kernels.tolerances_of(tensor.type);
    }
    if (!data.has_tolerances()) kernels.of(reference_code(data));
    if (data.launched_reference && data.launched_reference->is_on_host()) {
      kernels.on_host(*data.launched_reference);
    } else if (data.launched_reference) {
      kernels.of(*data.launched_reference);
    }
  } catch (const gpu::DriverError& error) {
    // provide() tries again, and says how much memory is lacking.
    if (!gpu::is_out_of_memory(error.cuda_result())) throw;
  }
}

std::string GpuBackend::provide(const MeasureRequest& request) {
  loaded_.reset();
  std::string problem;
  GpuWorkspace* const tensors = objects_->workspaces.find_or_make(request, problem);
  if (tensors == nullptr) return problem;
  loaded_ = std::make_unique<Loaded>(
      Loaded{.tensors = *tensors, .problem = request.problem, .data = request.data});
  return "";
}

std::string GpuBackend::load(const MeasureRequest& request) {
  gpu::reset_persisting_lines(*driver_);  // those of the kernel before
  if (!request.baseline.empty()) {
    std::unique_ptr<gpu::Baseline>& baseline = objects_->baselines[request.baseline];
    for (const gpu::NamedBaseline& known : gpu::built_in_baselines()) {
      if (!baseline && known.name == request.baseline) {
        baseline = known.make(*driver_, objects_->stream);
      }
    }
    if (!baseline) throw Error("no such baseline: " + request.baseline);
    const int algorithms = baseline->algorithms(request.problem, values(DataSet::reals));
    if (request.algorithm >= algorithms) {
      throw Error(
          fmt::format("{} has {} algorithms for this problem", request.baseline, algorithms));
    }
    loaded_->baseline = baseline.get();
    loaded_->algorithm = request.algorithm;
    return baseline->version();
  }
  loaded_->kernel = objects_->modules.load(request.cubin, request.kernel_name);
  loaded_->arguments = ArgumentLayout(request.signature);
  loaded_->geometry = request.geometry.on_device(device_.sm_count);
  return "";
}

void GpuBackend::prepare_launch() {
  if (!loaded_->kernel) return;  // it is a baseline
  loaded_->kernel->allow_dynamic_shared(loaded_->geometry);
  loaded_->workspace =
      objects_->workspace.reserve(loaded_->geometry.workspace_bytes(), objects_->stream.handle());
}

void GpuBackend::poison(DataSet data, Poison poison) {
  loaded_->tensors.poison(data, poison);
}

LaunchValues GpuBackend::values(DataSet data) const {
  const Loaded& run = *loaded_;
  return {.tensors = run.tensors.placed(data),
          .sizes = run.data.sizes,
          .scalars = run.data.scalars,
          .workspace = run.workspace,
          .raster = static_cast<std::uint32_t>(run.geometry.raster)};
}

void GpuBackend::enqueue(DataSet data) {
  const Loaded& run = *loaded_;
  const LaunchValues launched = values(data);
  if (run.baseline != nullptr) {
    return run.baseline->launch(run.problem, launched, run.algorithm);
  }
  gpu::KernelArguments arguments(*driver_, run.arguments, run.geometry, run.tensors.tensors(),
                                 launched);
  run.kernel->launch(run.geometry, arguments.pointers(), objects_->stream);
}

double GpuBackend::launch(DataSet data) {
  objects_->start.record(objects_->stream);
  enqueue(data);
  objects_->end.record(objects_->stream);
  objects_->end.synchronize();
  return objects_->end.elapsed_us_since(objects_->start);
}

Finding GpuBackend::read_findings() {
  const gpu::Stream& stream = objects_->stream;
  objects_->findings.copy_to_host(objects_->host_findings.data(), kFindingsBytes, stream);
  stream.synchronize();
  return merged(std::span(static_cast<const Finding*>(objects_->host_findings.data()), kFindings));
}

WrongOutput GpuBackend::wrong_output(std::size_t output, DataSet data, const Finding& finding) {
  if (finding.wrong == 0) return {};
  const GpuWorkspace& tensors = loaded_->tensors;
  WrongOutput wrong{.value = tensors.value(output, finding.first_wrong),
                    .expected = tensors.expected(output, data, finding.first_wrong)};
  if (tensors.is_inout(output) || !shows_unwritten(tensors.output(output).type)) return wrong;
  tensors.check_written(output, objects_->findings.address());
  const Finding unwritten = read_findings();
  wrong.unwritten = unwritten.wrong;
  wrong.first_unwritten = unwritten.first_wrong;
  return wrong;
}

CheckOutcome GpuBackend::check(DataSet data, const std::string& when, Finding& finding) {
  const GpuWorkspace& tensors = loaded_->tensors;
  const bool has_tolerances = loaded_->data.has_tolerances();
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < tensors.outputs(); ++i) {
    tensors.check(i, data, loaded_->data.error_bound, objects_->findings.address());
    findings.push_back(read_findings());
    finding = merged(findings);
    const Finding& own = findings.back();
    CheckOutcome outcome =
        has_tolerances ? outcome_of(own, tensors.output(i), when, wrong_output(i, data, own))
                       : outcome_of(own, tensors.output(i), when, tensors.outputs() > 1);
    if (!outcome.ok()) return outcome;
  }
  return {};
}

void GpuBackend::store_results() {
  loaded_->tensors.store_results();
}

std::string GpuBackend::changed_input(DataSet data) {
  return loaded_->tensors.changed_input(data);
}

double GpuBackend::least_us(const ProblemData& data) {
  std::optional<LimitingRates>& limits = objects_->limits;
  if (!limits) limits = limiting_rates(device_, calibration_kernels(), objects_->stream);
  return limits->least_us(data);
}

Timing GpuBackend::time(const TimingPlan& plan, double estimate_us) {
  const LaunchTimer timer(
      objects_->stream, [this] { enqueue(DataSet::reals); },
      objects_->nvml ? &*objects_->nvml : nullptr);
  if (estimate_us == 0) estimate_us = timer.estimate_us();
  if (auto screened = screened_out(plan, estimate_us)) return {*std::move(screened), false};
  return {timer.measure(plan, estimate_us)};
}

bool GpuBackend::is_out_of_memory(const Error& error) const {
  const auto* fault = dynamic_cast<const gpu::DriverError*>(&error);
  return fault != nullptr && gpu::is_out_of_memory(fault->cuda_result());
}

// After a fault every call in the context fails, even if cuda.h does not say so of its error code.
bool GpuBackend::is_poisoned(const Error& error) const {
  const auto* fault = dynamic_cast<const gpu::DriverError*>(&error);
  if (fault != nullptr && gpu::poisons_process(fault->cuda_result())) return true;
  try {
    objects_->stream.synchronize();
    return false;
  } catch (const gpu::DriverError&) {
    return true;
  }
}

void GpuBackend::discard(TrialStatus status) {
  const bool wrote_elsewhere =
      status == TrialStatus::wrong_result || status == TrialStatus::out_of_bounds;
  loaded_.reset();
  if (wrote_elsewhere) objects_->workspaces.discard_last();
  objects_->workspace.discard();
}

const gpu::Module& GpuBackend::calibration_kernels() {
  std::unique_ptr<const gpu::Module>& module = objects_->calibration;
  if (!module) {
    module = load_measuring_kernels(*driver_, *nvrtc_, objects_->target, "calibration.cu",
                                    measuring_source("calibration.cu"), {});
  }
  return *module;
}

CalibrateReply GpuBackend::calibrate() {
  return calibrate_gpu(device_, calibration_kernels(), objects_->stream);
}

}  // namespace autotune
