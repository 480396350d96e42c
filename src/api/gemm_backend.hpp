// One kind of device's way of running products.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "autotune/autotune.hpp"

#include "api/gemm_call.hpp"
#include "api/kernel_selector.hpp"
#include "api/planned_gemm.hpp"

namespace autotune {

// The result of a product that was tried.
struct Tried {
  Outcome outcome = Outcome::not_ready;
  MatchKind match = MatchKind::exact;  // where it is done
};

// Thread-safe. Problems are row-major.
class GemmBackend {
 public:
  virtual ~GemmBackend() = default;
  // The device that this thread's calls work on. Throws UsageError when it is not to be used.
  [[nodiscard]] virtual KernelSelector& selector() = 0;
  // Does what Library::try_gemm() does with a right call; throws what the device reports.
  [[nodiscard]] virtual Tried try_gemm(const GemmCall& call) = 0;
  virtual MatchKind gemm(const GemmCall& call) = 0;
  virtual MatchKind prepare(const GemmProblem& problem, Stream stream) = 0;
  // Prepares A or B of a call, the one that is not null.
  [[nodiscard]] virtual std::shared_ptr<PreparedOperand> prepare_operand(const GemmCall& call) = 0;
  // The plan stays as long as this object. It serves calls of that pointer mode.
  [[nodiscard]] virtual const PlannedGemm& plan(const GemmProblem& problem, bool aligned,
                                                PointerMode scalars) = 0;
  virtual void release(Stream stream) = 0;
  virtual void trim(std::size_t keep_bytes) = 0;
  // Chooses the kernels anew that calls for a problem have run with on a device, and puts them in
  // the place of those. No call waits, or is cold once more. In contexts that the application made
  // itself calls keep their kernels.
  virtual void choose_again(const DeviceInfo& device, const GemmProblem& problem) = 0;
  // From now on kernels are chosen anew. Those that are loaded stay so: work may be under way.
  virtual void forget_choices() = 0;
};

// Sets the place of the operand that prepare_operand() is to prepare, and nothing else.
template <typename Prepared>
[[nodiscard]] std::shared_ptr<Prepared> unprepared(const GemmCall& call) {
  auto operand = std::make_shared<Prepared>();
  operand->place = call.a.data != nullptr ? place_of_a(call) : place_of_b(call);
  return operand;
}

// A plan's choice where there is nothing to multiply.
[[nodiscard]] BestConfiguration nothing_to_choose(const GemmProblem& problem);

// The kernel that multiplies C by beta: gemm_tiled with K = 0, in one configuration for all sizes.
[[nodiscard]] KernelChoice scaling_choice(const KernelSet& kernels, bool batched);
// The problem that it is compiled for.
inline constexpr GemmProblem kScaledProblem{1024, 1024, 1};
// The same for batches of any number of products, or for single ones.
[[nodiscard]] GemmProblem scaled_problem(bool batched);

[[nodiscard]] inline Placement placement_of(const GemmCall& call) {
  return call.is_aligned() ? Placement::aligned : Placement::anywhere;
}

// Returns whether a problem has anything to multiply.
[[nodiscard]] inline bool multiplies(const GemmProblem& problem) {
  return problem.m > 0 && problem.n > 0 && problem.k > 0 && problem.batch > 0;
}

// GPU `only`, or with nullopt the GPU of each caller's context, GPU 0 without one. `devices`: all
// GPUs, in the driver's order. Throws EnvironmentError when the driver cannot be opened.
// The allocator, or nullptr, stays as long as the backend and what it prepares.
[[nodiscard]] std::unique_ptr<GemmBackend> make_gpu_gemm(
    const std::vector<DeviceInfo>& devices, std::optional<int> only, const SelectorSetup& setup,
    std::optional<std::size_t> max_workspace_bytes = {}, const Allocator* allocator = nullptr);
[[nodiscard]] std::unique_ptr<GemmBackend> make_cpu_gemm(const DeviceInfo& device,
                                                         const SelectorSetup& setup);

}  // namespace autotune
