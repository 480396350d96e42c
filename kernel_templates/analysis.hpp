// The resources that a configuration takes, by arithmetic alone: the reasoning of the textbooks
// (loads and operations of a phase, shared memory, blocks on an SM, loads under way), and with a
// problem and a device the waves of blocks and the roofline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/device_info.hpp"
#include "core/occupancy.hpp"
#include "kernel_templates/kernel_template.hpp"

namespace autotune {

struct Analysis {
  std::int64_t threads = 0;  // of a block
  // The elements that a block reads from global memory, its operations (a multiply-add counts as
  // two), and operations for each of the elements. A template without a tile shape has none.
  std::optional<std::int64_t> loads_per_phase;
  std::optional<std::int64_t> operations_per_phase;
  std::optional<double> operations_per_load;
  std::int64_t shared_bytes = 0;           // of the tiles alone, if there are any
  std::int64_t reserved_shared_bytes = 0;  // the rest that a block takes: padding, the hardware's
  std::optional<std::int64_t> registers;   // a thread; unknown without a compiler
  Occupancy occupancy;
  std::optional<std::int64_t> pending_loads;  // of all blocks on an SM, in one phase

  // With a problem.
  std::optional<std::int64_t> blocks;
  // With a problem and a device's number of SMs: rounds of blocks, the last one counted in part.
  std::optional<double> waves;
  // The used part of the SMs' time in these rounds: waves / ceil(waves).
  std::optional<double> wave_efficiency;
};

// The figures for one configuration of `kernel` on an SM with these limits. `problem` may be null;
// sm_count 0 means unknown.
[[nodiscard]] Analysis analyze(const KernelTemplate& kernel, const Configuration& configuration,
                               const SmLimits& sm, std::optional<std::int64_t> registers,
                               const Problem* problem, int sm_count);

// The least time that a template can take for a problem on a device of these rates: the larger of
// its operations over the rate of their units and its bytes, each moved once, over the memory rate.
// Planes of the inputs are written once and read once.
struct Roofline {
  double compute_us = 0;
  double memory_us = 0;
  [[nodiscard]] double bound_us() const { return compute_us > memory_us ? compute_us : memory_us; }
  [[nodiscard]] const char* bound_by() const {
    return compute_us > memory_us ? "arithmetic" : "memory";
  }
};
// Returns nullopt where the rate of the architecture's tensor cores is not known and the template
// multiplies on them.
[[nodiscard]] std::optional<Roofline> roofline(const KernelTemplate& kernel, const Problem& problem,
                                               const std::string& architecture,
                                               const DeviceRates& rates);

}  // namespace autotune
