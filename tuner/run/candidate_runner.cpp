#include "tuner/run/candidate_runner.hpp"

#include <utility>

#include "autotune/error.hpp"

#include "core/compile_target.hpp"
#include "operation/memory_requirement.hpp"

namespace autotune {

void check_memory(const KernelSet& kernels, const std::vector<Problem>& problems,
                  const DeviceInfo& device) {
  std::string why;
  for (const Problem& problem : problems) {
    why = why_too_large(kernels.operation_for(problem), problem, device);
    if (why.empty()) return;
  }
  throw EnvironmentError(why);
}

CandidateRunner::CandidateRunner(const TunerSetup& setup, CubinStore& cubins)
    : kernels_(setup.kernels),
      device_(setup.device),
      runner_(setup.measuring.front().make_worker, setup.measure_timeout),
      pool_(setup.make_compile_worker, setup.compile_jobs, setup.compile_timeout,
            [this](KernelBuilt built) { built_.post(std::move(built)); }) {
  const DescribeCompilerReply compiler =
      describe_compiler(setup.make_compile_worker, setup.compile_timeout);
  builder_ = std::make_unique<KernelBuilder>(pool_, &cubins, compiler.build,
                                             compile_target(setup.device, compiler.architectures));
}

void CandidateRunner::prepare(const KernelTemplate& kernel, const Configuration& configuration,
                              const Problem& problem) {
  if (!too_large(problem)) builder_->request(kernel, configuration, problem);
}

std::optional<Trial> CandidateRunner::too_large(const Problem& problem) const {
  std::string why = why_too_large(kernels_.operation_for(problem), problem, device_);
  if (why.empty()) return std::nullopt;
  Trial trial{.problem = problem};
  trial.status = TrialStatus::out_of_memory;
  trial.detail = std::move(why);
  return trial;
}

Trial CandidateRunner::run(const KernelTemplate& kernel, const Configuration& configuration,
                           const Problem& problem, const MeasureOptions& options) {
  if (auto failed = too_large(problem)) {
    failed->template_name = kernel.name;
    failed->configuration = configuration;
    return *std::move(failed);
  }
  const auto ticket = builder_->request(kernel, configuration, problem);
  while (builder_->find(ticket) == nullptr) builder_->take(built_.wait());
  return runner_.run(kernel, configuration, problem, *builder_->find(ticket), options);
}

Trial CandidateRunner::run_baseline(const std::string& name, int algorithm, const Problem& problem,
                                    const MeasureOptions& options) {
  if (auto failed = too_large(problem)) return *std::move(failed);
  return runner_.run_baseline(name, algorithm, kernels_.operation_for(problem), problem, options);
}

}  // namespace autotune
