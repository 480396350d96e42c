// The configurations from which a portfolio is chosen.
#pragma once

#include <cstddef>
#include <vector>

#include "autotune/problem.hpp"

#include "core/device_info.hpp"
#include "db/tuning_database.hpp"
#include "select/portfolio.hpp"

namespace autotune {

struct PoolEntry {
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;

  bool operator==(const PoolEntry&) const = default;
};

// Distinct configurations that the device can run and that compute products of the math: those of
// shipped portfolios and winners, of the winners and best trials in `database` (which may be null),
// and for each of `spread` random shapes the best of each template by the cost model.
[[nodiscard]] std::vector<PoolEntry> candidate_pool(const ShippedPortfolios& portfolios,
                                                    const DeviceInfo& device,
                                                    const TuningDatabase* database, Math math,
                                                    std::size_t spread);

// Clock cycles by the template's cost model; 1 where the device's SMs are not known.
[[nodiscard]] double model_cycles(const PoolEntry& entry, const GemmProblem& problem,
                                  const DeviceInfo& device);

}  // namespace autotune
