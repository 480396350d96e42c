#include "pool.hpp"

#include <algorithm>

#include "autotune/error.hpp"

#include "db/shipped_winners.hpp"
#include "operation/gemm/gemm.hpp"
#include "shapes.hpp"

namespace autotune {
namespace {

constexpr std::uint64_t kSpreadSeed = 1001;
constexpr std::size_t kMostLookedAt = 20'000;  // configurations of a space, for one shape

class Pool {
 public:
  Pool(const KernelSet& kernels, const DeviceInfo& device, Math math)
      : kernels_(kernels), device_(device), math_(math) {}

  // Leaves out what the device cannot run, and what is there.
  void add(const PoolEntry& entry) {
    for (const Constraint& constraint : device_constraints(*entry.kernel, device_)) {
      if (!constraint.holds(entry.configuration)) return;
    }
    if (std::find(entries_.begin(), entries_.end(), entry) == entries_.end()) {
      entries_.push_back(entry);
    }
  }

  void add(const Winner& winner) {
    const KernelTemplate* kernel = kernels_.find(winner.template_name);
    if (kernel == nullptr || kernel->space_version != winner.space_version) return;
    GemmProblem problem = gemm_problem(winner.problem);
    problem.math = math_;
    if (!computes(*kernel, problem)) return;
    add({kernel, kernel->space.validated(winner.configuration)});
  }

  [[nodiscard]] std::vector<PoolEntry> take() { return std::move(entries_); }

 private:
  const KernelSet& kernels_;
  const DeviceInfo& device_;
  Math math_;
  std::vector<PoolEntry> entries_;
};

// The best of a space for one problem by the cost model, among evenly chosen configurations.
PoolEntry best_by_model(const KernelTemplate& kernel, const std::vector<Configuration>& space,
                        const GemmProblem& problem, const DeviceInfo& device) {
  const std::size_t stride = 1 + space.size() / kMostLookedAt;
  PoolEntry best;
  double best_cycles = 0;
  for (std::size_t i = 0; i < space.size(); i += stride) {
    const PoolEntry entry{&kernel, space[i]};
    const double cycles = model_cycles(entry, problem, device);
    if (best.kernel == nullptr || cycles < best_cycles) {
      best = entry;
      best_cycles = cycles;
    }
  }
  return best;
}

}  // namespace

double model_cycles(const PoolEntry& entry, const GemmProblem& problem, const DeviceInfo& device) {
  if (device.sm.registers_per_sm == 0 || !entry.kernel->cost_model) return 1;
  return predicted_cycles(*entry.kernel, entry.configuration, problem, device.sm, device.sm_count);
}

std::vector<PoolEntry> candidate_pool(const ShippedPortfolios& portfolios, const DeviceInfo& device,
                                      const TuningDatabase* database, Math math,
                                      std::size_t spread) {
  Pool pool(portfolios.kernels(), device, math);
  const ResultFilter filter{.operation = kGemm};
  for (const Portfolio& portfolio : portfolios.of(math)) {
    for (const PortfolioEntry& entry : portfolio.entries) {
      pool.add(PoolEntry{entry.kernel, entry.configuration});
    }
  }
  for (const Winner* winner : shipped_winners(filter)) pool.add(*winner);
  if (database != nullptr) {
    for (const Winner& winner : database->winners(filter)) pool.add(winner);
    for (const Winner& trial : database->best_trials(filter)) pool.add(trial);
  }
  for (const KernelTemplate* kernel : portfolios.kernels().for_device(device)) {
    std::vector<Configuration> space;
    for (const GemmProblem& problem : mixed_shapes(spread, kSpreadSeed, math)) {
      if (!computes(*kernel, problem)) continue;
      if (space.empty()) {
        space = kernel->space.enumerate(device_constraints(*kernel, device)).configurations;
      }
      pool.add(best_by_model(*kernel, space, problem, device));
    }
  }
  return pool.take();
}

}  // namespace autotune
