#include <utility>

#include "autotune/autotune.hpp"

#include "api/core.hpp"
#include "api/gemm_call.hpp"
#include "api/own_kernel.hpp"

namespace autotune {
namespace {

// Throws UsageError for an object that was moved from.
Core& of(const std::shared_ptr<Core>& core) {
  if (!core) throw UsageError("this Library was moved from");
  return *core;
}

}  // namespace

const char* library_version() noexcept {
  return kVersion;
}

Library::Library(const LibraryOptions& options) : core_(Core::make(options)) {}
Library::~Library() {
  if (core_) core_->end_background();
}
Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&& other) noexcept {
  if (this == &other) return *this;
  const Library gone(std::move(*this));
  core_ = std::move(other.core_);
  return *this;
}

std::string Library::device_name() const {
  return of(core_).backend().selector().device().label;
}

MatchKind Library::gemm(const GemmProblem& problem, const GemmArguments& arguments) {
  return of(core_).backend().gemm(checked_call(problem, arguments));
}

Outcome Library::try_gemm(const GemmProblem& problem, const GemmArguments& arguments) noexcept try {
  const GemmCall call = unchecked_call(problem, arguments);
  if (!is_right(call, problem, arguments, OnFault::returns)) return Outcome::refused;
  return of(core_).backend().try_gemm(call).outcome;
} catch (...) {
  return Outcome::refused;
}

MatchKind Library::prepare(const GemmProblem& problem, Stream stream) {
  check_problem(problem);
  return of(core_).backend().prepare(problem.row_major(), stream);
}

PreparedMatrix Library::prepare_operand(const GemmProblem& problem, Operand which, Matrix matrix,
                                        Stream stream) {
  const GemmCall call = checked_operand(problem, which, matrix, stream);
  const std::shared_ptr<PreparedOperand> operand = of(core_).backend().prepare_operand(call);
  operand->owner = core_;
  return PreparedMatrix(operand);
}

PreparedMatrix::PreparedMatrix(std::shared_ptr<const PreparedOperand> prepared)
    : operand_(std::move(prepared)) {}

std::size_t PreparedMatrix::bytes() const {
  return operand_ ? operand_->bytes : 0;
}

Plan Library::plan(const GemmProblem& problem, Alignment alignment, PointerMode scalars) {
  check_problem(problem);
  if (alignment > Alignment::of_16_bytes) {
    throw UsageError("alignment is " + std::to_string(static_cast<int>(alignment)) +
                     ": it must be 0 or 1");
  }
  if (scalars > PointerMode::device) {
    throw UsageError("scalars is " + std::to_string(static_cast<int>(scalars)) +
                     ": it must be 0 or 1");
  }
  GemmBackend& backend = of(core_).backend();
  const PlannedGemm& planned =
      backend.plan(problem.row_major(), alignment == Alignment::of_16_bytes, scalars);
  return Plan(std::shared_ptr<const PlannedGemm>(core_, &planned), problem, scalars);
}

void Library::release(Stream stream) {
  of(core_).backend().release(stream);
}

void Library::trim(std::size_t keep_bytes) {
  of(core_).backend().trim(keep_bytes);
}

BestConfiguration Library::query(const GemmProblem& problem, const QueryOptions& options) const {
  check_tunable(problem);
  check_max_error(options.max_error);
  const KernelSelector& selector = of(core_).backend().selector();
  return options.max_error ? selector.fastest_within(*options.max_error, problem.row_major())
                           : selector.predict(problem.row_major(), Placement::aligned).best;
}

TuningResult Library::tune(const std::vector<GemmProblem>& problems, const TuningOptions& options) {
  return of(core_).tune(problems, options);
}

Kernel Library::kernel(const KernelSource& source) {
  static_cast<void>(of(core_).backend());
  if (source.file.empty()) throw UsageError("file is empty: it must name a .cu file");
  const KernelFile file = read_kernel_file(
      source.file,
      {.include_folders = {source.include_folders.begin(), source.include_folders.end()},
       .template_arguments = source.template_arguments,
       .text = source.text});
  return Kernel(
      not_destroyed_in_forks(new OwnKernel(core_, OwnKernels(file, file.kernel(source.name)))));
}

void Library::stop_background() {
  of(core_).end_background();
}

Plan::Plan(std::shared_ptr<const PlannedGemm> planned, const GemmProblem& problem,
           PointerMode scalars)
    : planned_(std::move(planned)), problem_(problem), scalars_(scalars) {}

const PlannedGemm& Plan::planned() const {
  if (!planned_) throw UsageError("this Plan is empty");
  return *planned_;
}

MatchKind Plan::match() const {
  return planned().best.match;
}
const std::string& Plan::kernel() const {
  return planned().best.template_name;
}
const Configuration& Plan::configuration() const {
  return planned().best.configuration;
}
const std::string& Plan::explanation() const {
  return planned().best.explanation;
}
const BestConfiguration& Plan::choice() const {
  return planned().best;
}
std::size_t Plan::workspace_bytes() const {
  return planned().workspace_bytes;
}

void Plan::operator()(const GemmArguments& arguments) const {
  const PlannedGemm& plan = planned();
  check_not_forked(plan.forks);
  const GemmCall call = checked_call(problem_, arguments);
  if (call.is_empty()) return;
  if (call.pointer_mode() != scalars_) {
    throw UsageError(
        scalars_ == PointerMode::host
            ? "alpha_ptr and beta_ptr: the plan was made for PointerMode::host"
            : "the plan was made for PointerMode::device: give alpha_ptr and beta_ptr");
  }
  if (call.multiplies() && plan.needs_alignment && !call.is_aligned()) {
    throw UsageError("the operands are not aligned as the plan was told: use Alignment::any");
  }
  if (call.multiplies() && call.workspace.bytes < plan.workspace_bytes) {
    throw UsageError("the workspace has " + std::to_string(call.workspace.bytes) +
                     " bytes: this plan needs " + std::to_string(plan.workspace_bytes));
  }
  plan.run(call);
}

}  // namespace autotune
