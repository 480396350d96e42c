// The kernels that multiply C by beta, as they are loaded on GPUs.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "api/gemm_backend.hpp"
#include "api/gpu_launch.hpp"
#include "api/plan_table.hpp"

namespace autotune {

// They stay as long as this object. Thread-safe.
class Scalings {
 public:
  // The key of the kernel that scales C, as no product that multiplies has it.
  [[nodiscard]] static PlanKey key_of(std::uint64_t context, const GemmProblem& problem,
                                      PointerMode scalars) {
    PlanKey key{context, scaled_problem(problem.batch > 1), Placement::anywhere, scalars};
    key.problem.k = 0;
    return key;
  }

  // Returns nullptr when there is none.
  [[nodiscard]] const Scaling* find(const PlanKey& key) {
    const std::lock_guard lock(mutex_);
    const auto known = loaded_.find(key);
    return known == loaded_.end() ? nullptr : &known->second;
  }
  // Returns the one that was there first.
  const Scaling& insert(const PlanKey& key, Scaling scaling) {
    const std::lock_guard lock(mutex_);
    return loaded_.emplace(key, std::move(scaling)).first->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<PlanKey, Scaling, PlanKey::Hash> loaded_;
};

}  // namespace autotune
