#include "cli/candidate_runner.hpp"

#include <utility>

#include "autotune/error.hpp"

#include "cli/exit_codes.hpp"
#include "core/compile_target.hpp"
#include "operation/gemm/gemm.hpp"
#include "operation/memory_requirement.hpp"

namespace autotune {

CandidateRunner::CandidateRunner(const TunerSetup& setup, CubinStore& cubins)
    : device_(setup.device),
      runner_(setup.measuring.front().make_worker, setup.measure_timeout),
      pool_(setup.make_compile_worker, setup.compile_jobs, setup.compile_timeout,
            [this](KernelBuilt built) { built_.post(std::move(built)); }) {
  const DescribeCompilerReply compiler =
      describe_compiler(setup.make_compile_worker, setup.compile_timeout);
  builder_ = std::make_unique<KernelBuilder>(pool_, &cubins, compiler.build,
                                             compile_target(setup.device, compiler.architectures));
}

void CandidateRunner::prepare(const KernelTemplate& kernel, const Configuration& configuration,
                              const GemmProblem& problem) {
  builder_->request(kernel, configuration, problem);
}

Trial CandidateRunner::run(const KernelTemplate& kernel, const Configuration& configuration,
                           const GemmProblem& problem, const MeasureOptions& options) {
  if (const std::string why = why_too_large(built_in_operations().at(kGemm), problem, device_);
      !why.empty()) {
    throw EnvironmentError(why);
  }
  const auto ticket = builder_->request(kernel, configuration, problem);
  while (builder_->find(ticket) == nullptr) builder_->take(built_.wait());
  return runner_.run(kernel, configuration, problem, *builder_->find(ticket), options);
}

int exit_code_for(const std::vector<Trial>& trials) {
  for (const Trial& trial : trials) {
    if (trial.status == TrialStatus::out_of_memory) return exit_code::kEnvironment;
    if (!trial.ok()) return exit_code::kNoneCorrect;
  }
  return exit_code::kDone;
}

}  // namespace autotune
