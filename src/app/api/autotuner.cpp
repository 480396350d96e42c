#include "autotune/autotuner.hpp"

#include <limits>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "api/device_choice.hpp"
#include "api/gemm_backend.hpp"
#include "api/setup.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

void check_problem(const GemmProblem& problem) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"m", problem.m}, {"n", problem.n}, {"k", problem.k}};
  for (const auto& [name, size] : sizes) {
    if (size >= 1 && size <= kMost) continue;
    throw UsageError(fmt::format("{} is {}: it must be from 1 to {}", name, size, kMost));
  }
}

void check_operand(const char* name, const float* data, std::int64_t ld, std::int64_t least) {
  if (data == nullptr) throw UsageError(fmt::format("{} is a null pointer", name));
  if (ld < least) {
    throw UsageError(fmt::format("ld{} is {}: rows of {} elements need {} at least",
                                 static_cast<char>(name[0] - 'A' + 'a'), ld, least, least));
  }
}

void check_call(const GemmCall& call) {
  check_problem(call.problem);
  check_operand("A", call.a, call.lda, call.problem.lda());
  check_operand("B", call.b, call.ldb, call.problem.ldb());
  check_operand("C", call.c, call.ldc, call.problem.ldc());
}

TuneRequest make_request(const GemmProblem& problem, const TuningOptions& options) {
  check_problem(problem);
  if (options.budget_seconds && !(*options.budget_seconds > 0)) {
    throw UsageError(
        fmt::format("budget_seconds is {}: it must be above 0", *options.budget_seconds));
  }
  if (options.budget_trials && *options.budget_trials < 1) {
    throw UsageError(
        fmt::format("budget_trials is {}: it must be 1 at least", *options.budget_trials));
  }
  if (!options.worker_program.empty() && ::access(options.worker_program.c_str(), X_OK) != 0) {
    throw UsageError(fmt::format("worker_program is {}: it must be the program autotune",
                                 options.worker_program));
  }
  TuneRequest request;
  request.problems = {problem};
  request.budget = {options.budget_seconds, options.budget_trials};
  request.strategy = options.strategy;
  request.seed = options.seed;
  request.fresh = options.fresh;
  request.command = "Autotuner::tune";
  return request;
}

ProgressCallback progress_callback(const TuningOptions& options) {
  if (!options.progress) return {};
  return [report = options.progress](const TuneProgress& progress) {
    TuningProgress mine{progress.done, progress.total, progress.elapsed_s, progress.remaining_s,
                        std::nullopt};
    if (!progress.best_us.empty()) mine.best_us = progress.best_us.front().second;
    report(mine);
  };
}

TuningResult make_result(const TuneReport& report) {
  const ProblemResult& problem = report.problems.front();
  if (!problem.winner && !problem.too_large.empty()) throw EnvironmentError(problem.too_large);
  TuningResult result;
  if (const std::optional<Winner>& winner = problem.winner) {
    result.winner = {MatchKind::exact,
                     winner->confirmed ? "chosen in finals" : "the best of the search",
                     winner->template_name,
                     winner->configuration,
                     gemm_problem(problem.problem),
                     winner->median_us};
  }
  result.measured = report.measured;
  result.known = report.known;
  for (const auto& [status, count] : report.statuses) result.statuses[to_string(status)] = count;
  result.complete = report.complete;
  result.storage_problem = report.storage_problem;
  return result;
}

}  // namespace

struct Autotuner::Implementation {
  std::string database;
  bool use_shipped_winners;
  KernelSelector supply;
  std::unique_ptr<GemmBackend> runner;
  std::mutex tuning;

  explicit Implementation(const AutotunerOptions& options)
      : database(options.database),
        use_shipped_winners(options.use_shipped_winners),
        supply(choose_device(options.device).device, database, use_shipped_winners) {
    runner = supply.device().is_cpu() ? make_cpu_gemm(supply) : make_gpu_gemm(supply);
  }

  TuningResult tune(TuneRequest request, const TuningOptions& options) {
    request.use_shipped_winners = use_shipped_winners;
    const std::lock_guard lock(tuning);
    OpenedDatabase opened = open_results(database);
    CubinStore cubins = open_cubin_store();
    TunerSetup setup = options.worker_program.empty()
                           ? in_process_setup(supply.device())
                           : isolated_setup({supply.device()}, options.worker_program);
    setup.database = &opened.database;
    setup.cubins = &cubins;
    TuningResult result =
        make_result(autotune::tune(request, setup, progress_callback(options), options.stop));
    if (!opened.problem.empty()) {
      result.storage_problem = opened.problem;
      supply.keep_in_memory(std::move(opened.database));
    }
    return result;
  }
};

Autotuner::Autotuner(const AutotunerOptions& options)
    : implementation_(std::make_unique<Implementation>(options)) {}
Autotuner::~Autotuner() = default;
Autotuner::Autotuner(Autotuner&&) noexcept = default;
Autotuner& Autotuner::operator=(Autotuner&&) noexcept = default;

const std::string& Autotuner::device_name() const {
  return implementation_->supply.device().label;
}

BestConfiguration Autotuner::best(const GemmProblem& problem) const {
  check_problem(problem);
  return implementation_->supply.choose(problem, Placement::anywhere).best;
}

TuningResult Autotuner::tune(const GemmProblem& problem, const TuningOptions& options) {
  TuningResult result = implementation_->tune(make_request(problem, options), options);
  // Once the cubins of the search are in their store.
  implementation_->runner->forget_choices();
  return result;
}

MatchKind Autotuner::gemm(const GemmProblem& problem, float alpha, const float* a, std::int64_t lda,
                          const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc,
                          CUstream_st* stream) {
  const GemmCall call{problem, alpha, a, lda, b, ldb, beta, c, ldc, stream};
  check_call(call);
  return implementation_->runner->gemm(call);
}

MatchKind Autotuner::prepare(const GemmProblem& problem, CUstream_st* stream) {
  check_problem(problem);
  return implementation_->runner->prepare(problem, stream);
}

}  // namespace autotune
