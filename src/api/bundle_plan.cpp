#include "api/bundle_plan.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/bundled_kernels.hpp"
#include "api/gemm_backend.hpp"
#include "api/own_choice.hpp"
#include "api/setup.hpp"
#include "core/compiler_log.hpp"
#include "core/thread_pool.hpp"
#include "db/cubin_store.hpp"
#include "kernel_templates/gemm_template.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

void add_code(BundlePlan& plan, BundlePlan::Code code, const std::string& architecture) {
  std::string key = bundled_key(*code.kernel, code.configuration, code.traits, architecture);
  plan.code.try_emplace(std::move(key), std::move(code));
}

void add_code(BundlePlan& plan, const KernelChoice& choice, bool aligned,
              const std::string& architecture) {
  add_code(plan,
           {choice.kernel,
            choice.best.configuration,
            {code_macros(*choice.kernel, choice.problem), aligned}},
           architecture);
}

// Choices of one problem follow each other, the best one first: where it cannot be taken, the next
// one is.
void add_choice(BundlePlan& plan, const KernelChoice& choice, const Problem& problem) {
  const bool is_known =
      std::any_of(plan.choices.begin(), plan.choices.end(), [&](const BundledChoice& known) {
        return known.problem == problem && known.template_name == choice.kernel->name &&
               known.configuration == choice.best.configuration;
      });
  if (is_known) return;
  plan.choices.push_back({problem, choice.kernel->name, choice.kernel->space_version,
                          choice.best.configuration, choice.best.match, choice.best.explanation,
                          choice.best.tuned_for, choice.best.median_us});
}

std::string compiled(const gpu::Nvrtc& nvrtc, CubinStore& store, const BundlePlan::Code& code,
                     const std::string& architecture) {
  const std::string source(code.kernel->source);
  const std::vector<std::string> options =
      compile_options(*code.kernel, code.configuration, code.traits, architecture);
  const std::string key = cubin_key(nvrtc.build(), source, options);
  if (auto known = store.find(key)) return std::move(known->cubin);
  gpu::CompileResult result = nvrtc.compile(code.kernel->name, source, options);
  if (!result.ok) {
    throw Error(fmt::format("{} {} does not compile: {}", code.kernel->name,
                            to_string(code.configuration), first_error_line(result.log)));
  }
  store.put(key, {result.image, std::move(result.log), result.resources});
  return std::move(result.image);
}

}  // namespace

BundlePlan plan_bundle(const KernelSelector& selector, const std::vector<Problem>& problems) {
  const std::string architecture = selector.device().architecture();
  BundlePlan plan;
  for (const Problem& problem : problems) {
    const auto gemm = gemm_problem(problem);
    for (const Placement placement : {Placement::aligned, Placement::anywhere, Placement::frugal}) {
      const bool aligned = placement == Placement::aligned;
      if (aligned && !rows_are_aligned(gemm)) continue;
      const KernelChoice choice = selector.predict(gemm, placement);
      add_choice(plan, choice, problem);
      add_code(plan, choice, aligned, architecture);
    }
  }
  add_code(plan, scaling_choice(selector.kernels(), /*batched=*/false), /*aligned=*/false,
           architecture);
  return plan;
}

BundlePlan plan_own_bundle(const KernelTemplate& kernel, const DeviceInfo& device,
                           const DeviceQuery& results_of, const std::vector<Problem>& problems,
                           const ResultSource& results, const Log& log) {
  BundlePlan plan;
  for (const Problem& problem : problems) {
    const KernelConfiguration choice =
        stored_choice(kernel, device, results_of, problem, results, log).choice;
    if (!can_run(kernel, choice.configuration, problem, device)) {
      throw UsageError(fmt::format(
          "{} cannot run with its default configuration on {}: tune it, or give other defaults",
          kernel.operation->text(problem), device.label));
    }
    std::vector<Problem::Size> tuned_for;
    for (const auto& [name, value] : choice.tuned_for) tuned_for.push_back({name, value});
    plan.choices.push_back({problem, kernel.name, kernel.space_version, choice.configuration,
                            choice.match, choice.explanation,
                            problem_of(*kernel.operation, tuned_for), choice.median_us});
    add_code(plan, {&kernel, choice.configuration, code_traits(kernel, problem)},
             device.architecture());
  }
  return plan;
}

std::optional<BundleContent> compile_bundle(const gpu::Nvrtc& nvrtc, const BundlePlan& plan,
                                            const BundleTarget& target, int jobs,
                                            const std::stop_token& stop,
                                            const std::function<void()>& on_kernel) {
  CubinStore store = open_cubin_store();
  const std::vector<std::pair<std::string, BundlePlan::Code>> code(plan.code.begin(),
                                                                   plan.code.end());
  std::vector<std::string> cubins(code.size());
  std::mutex calls;
  std::atomic<bool> interrupted = false;
  ThreadPool(static_cast<std::size_t>(jobs)).for_each(code.size(), [&](std::size_t i, std::size_t) {
    if (stop.stop_requested()) {
      interrupted = true;
      return;
    }
    cubins[i] = compiled(nvrtc, store, code[i].second, target.architecture);
    const std::lock_guard lock(calls);
    on_kernel();
  });
  if (interrupted) return std::nullopt;
  BundleContent content{
      .target = target, .compiler = nvrtc.build(), .choices = plan.choices, .cubins = {}};
  for (std::size_t i = 0; i < code.size(); ++i) {
    content.cubins.emplace(code[i].first, std::move(cubins[i]));
  }
  return content;
}

}  // namespace autotune
