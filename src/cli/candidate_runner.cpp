#include "cli/candidate_runner.hpp"

namespace autotune {
namespace {

constexpr std::chrono::milliseconds kPatience(200);

}  // namespace

CandidateRunner::CandidateRunner(const TunerSetup& setup, CubinStore& cubins)
    : runner_(setup.make_measure_worker, setup.measure_timeout),
      pool_(setup.make_compile_worker, setup.compile_jobs, setup.compile_timeout) {
  const DescribeCompilerReply compiler = runner_.describe_compiler();
  builder_ = std::make_unique<KernelBuilder>(pool_, &cubins, compiler.build,
                                             compile_target(setup.device, compiler.architectures));
}

void CandidateRunner::prepare(const KernelTemplate& kernel, const Configuration& configuration,
                              const GemmProblem& problem) {
  builder_->request(kernel, configuration, problem);
}

Trial CandidateRunner::run(const KernelTemplate& kernel, const Configuration& configuration,
                           const GemmProblem& problem, const MeasureOptions& options) {
  const auto ticket = builder_->request(kernel, configuration, problem);
  while (builder_->find(ticket) == nullptr) {
    builder_->collect(std::chrono::steady_clock::now() + kPatience);
  }
  return runner_.run(kernel, configuration, problem, *builder_->find(ticket), options);
}

}  // namespace autotune
