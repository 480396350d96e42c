#include "tuner/compile/kernel_builder.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "core/compiler_log.hpp"
#include "core/cubin.hpp"

namespace autotune {
namespace {

constexpr int kAttempts = 3;

// A kernel that spills registers is slower than one with fewer results per thread, so it is
// rejected without being timed, unless its template allows it.
BuiltKernel checked(StoredCubin compiled, bool may_spill) {
  BuiltKernel kernel{TrialStatus::ok, "", std::move(compiled.cubin), compiled.resources};
  kernel.code = machine_code_hash(kernel.image);
  if (!may_spill && kernel.resources.spill_bytes > 0) {
    kernel.status = TrialStatus::rejected_spills;
    kernel.detail = fmt::format("spills {} bytes at {} registers", kernel.resources.spill_bytes,
                                kernel.resources.registers);
  }
  return kernel;
}

BuiltKernel failed(const WorkerFailure& failure) {
  const bool timed_out = failure.kind == WorkerFailure::Kind::timed_out;
  return {timed_out ? TrialStatus::compile_timeout : TrialStatus::compile_crashed,
          failure.reason,
          "",
          {}};
}

}  // namespace

DescribeCompilerReply describe_compiler(const WorkerFactory& make_worker,
                                        std::chrono::milliseconds timeout) {
  const std::unique_ptr<Worker> worker = make_worker();
  const CallLimit limit(timeout, CallLimit::Clock::now() + timeout);
  for (int attempt = 1;; ++attempt) {
    WorkerOutcome outcome = worker->call(DescribeCompilerRequest{}, limit);
    if (const auto* failure = std::get_if<WorkerFailure>(&outcome)) {
      if (failure->kind == WorkerFailure::Kind::timed_out) {
        throw EnvironmentError(
            fmt::format("the compiler does not answer ({}): install it anew, or name another in "
                        "AUTOTUNE_NVRTC, for the CPU device in CXX",
                        failure->reason));
      }
      if (attempt < kAttempts && failure->kind == WorkerFailure::Kind::died) continue;
      throw EnvironmentError(fmt::format("no worker could be started: {}", failure->reason));
    }
    auto reply = std::get<DescribeCompilerReply>(std::get<WorkerReply>(std::move(outcome)));
    if (reply.build.empty()) throw EnvironmentError(reply.problem);
    return reply;
  }
}

KernelBuilder::KernelBuilder(CompilePool& pool, CubinStore* store, std::string nvrtc_build,
                             std::string target)
    : pool_(pool),
      store_(store),
      nvrtc_build_(std::move(nvrtc_build)),
      target_(std::move(target)) {}

KernelBuilder::Ticket KernelBuilder::request(const KernelTemplate& kernel,
                                             const Configuration& configuration,
                                             const Problem& problem) {
  CompileRequest request{
      kernel.name, std::string(kernel.source),
      compile_options(kernel, configuration, code_traits(kernel, problem), target_)};
  std::string key = cubin_key(nvrtc_build_, request.source, request.options);
  const auto [position, is_new] = tickets_.try_emplace(key, built_.size());
  if (!is_new) return position->second;

  keys_.push_back(std::move(key));
  built_.emplace_back();
  may_spill_.push_back(kernel.may_spill);
  const Ticket ticket = position->second;
  if (std::optional<StoredCubin> stored = store_ ? store_->find(keys_[ticket]) : std::nullopt) {
    built_[ticket] = std::make_unique<BuiltKernel>(checked(std::move(*stored), kernel.may_spill));
    ++reused_;
  } else {
    pool_.submit({ticket, std::move(request)});
  }
  return ticket;
}

void KernelBuilder::drop_queued() {
  const std::vector<std::size_t> jobs = pool_.drop_queued();
  const std::set<std::size_t> dropped(jobs.begin(), jobs.end());
  std::erase_if(tickets_, [&](const auto& entry) { return dropped.contains(entry.second); });
}

void KernelBuilder::take(KernelBuilt built) {
  ++compiled_;
  std::unique_ptr<const BuiltKernel>& slot = built_[built.id];
  if (const auto* failure = std::get_if<WorkerFailure>(&built.result)) {
    slot = std::make_unique<BuiltKernel>(failed(*failure));
    return;
  }
  auto& reply = std::get<CompileReply>(built.result);
  if (!reply.problem.empty()) {
    throw EnvironmentError(fmt::format("kernels cannot be compiled: {}", reply.problem));
  }
  if (!reply.ok) {
    slot = std::make_unique<BuiltKernel>(
        BuiltKernel{TrialStatus::compile_failed, first_error_line(reply.log), "", reply.resources});
    return;
  }
  StoredCubin compiled{std::move(reply.cubin), std::move(reply.log), reply.resources};
  if (store_) store_->put(keys_[built.id], compiled);
  slot = std::make_unique<BuiltKernel>(checked(std::move(compiled), may_spill_[built.id]));
}

}  // namespace autotune
