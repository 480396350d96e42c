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
};

}  // namespace autotune
