// A product whose kernel is chosen and loaded, on whichever kind of device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "autotune/autotune.hpp"

#include "api/fork_count.hpp"
#include "api/gemm_call.hpp"

namespace autotune {

// Immutable, and thread-safe.
struct PlannedGemm {
  explicit PlannedGemm(BestConfiguration choice) : best(std::move(choice)) {}
  virtual ~PlannedGemm() = default;
  PlannedGemm(const PlannedGemm&) = delete;
  PlannedGemm& operator=(const PlannedGemm&) = delete;

  // Computes a product of the problem that was planned.
  virtual void run(const GemmCall& call) const = 0;

  const BestConfiguration best;
  const std::uint32_t forks = fork_count();  // when it was made
  std::size_t workspace_bytes = 0;
  bool needs_alignment = false;  // of operands, as Alignment::of_16_bytes has it

 protected:
  // Returns whether both, planned for the same problem, have the same choice for the same reason.
  [[nodiscard]] bool is_chosen_as(const PlannedGemm& other) const {
    const BestConfiguration& x = best;
    const BestConfiguration& y = other.best;
    return x.match == y.match && x.explanation == y.explanation &&
           x.template_name == y.template_name && x.configuration == y.configuration &&
           x.tuned_for == y.tuned_for && x.median_us == y.median_us && x.baseline == y.baseline &&
           needs_alignment == other.needs_alignment;
  }
};

}  // namespace autotune
