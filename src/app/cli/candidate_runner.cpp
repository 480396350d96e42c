#include "cli/candidate_runner.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/exit_codes.hpp"
#include "cli/results_json.hpp"
#include "core/compile_target.hpp"
#include "operation/gemm/gemm.hpp"
#include "operation/memory_requirement.hpp"

namespace autotune {

void check_memory(const std::vector<GemmProblem>& problems, const DeviceInfo& device) {
  for (const GemmProblem& problem : problems) {
    const std::string why = why_too_large(built_in_operations().at(kGemm), problem, device);
    if (!why.empty()) throw EnvironmentError(why);
  }
}

CandidateRunner::CandidateRunner(const TunerSetup& setup, CubinStore& cubins)
    : runner_(setup.measuring.front().make_worker, setup.measure_timeout),
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
  const auto ticket = builder_->request(kernel, configuration, problem);
  while (builder_->find(ticket) == nullptr) builder_->take(built_.wait());
  return runner_.run(kernel, configuration, problem, *builder_->find(ticket), options);
}

Trial CandidateRunner::run_baseline(const std::string& name, const GemmProblem& problem,
                                    const MeasureOptions& options) {
  return runner_.run_baseline(name, built_in_operations().at(kGemm), problem, options);
}

void print_trial_notes(const std::vector<Trial>& trials, std::size_t wanted) {
  for (const Trial& trial : trials) {
    if (trial.ok()) continue;
    fmt::print(stderr, "autotune: {}: {}\n", to_string(gemm_problem(trial.problem)), trial.detail);
  }
  if (trials.size() < wanted) {
    fmt::print(stderr, "autotune: interrupted: {} of {} were measured\n", trials.size(), wanted);
  }
}

void print_trials(const char* command, const DeviceInfo& device, const std::vector<Trial>& trials,
                  std::size_t wanted, const Options& options) {
  auto document = results_document(command, &device, device.label);
  for (const Trial& trial : trials) document["results"].push_back(result_entry(trial));
  document["measured"] = trials.size();
  document["interrupted"] = trials.size() < wanted;
  if (options.csv) {
    fmt::print("{}", results_csv(document));
  } else {
    print_document(document);
  }
}

int exit_code_for(const std::vector<Trial>& trials, std::size_t wanted) {
  if (trials.size() < wanted) return exit_code::kInterrupted;
  for (const Trial& trial : trials) {
    if (trial.status == TrialStatus::out_of_memory) return exit_code::kEnvironment;
    if (!trial.ok()) return exit_code::kNoneCorrect;
  }
  return exit_code::kDone;
}

}  // namespace autotune
