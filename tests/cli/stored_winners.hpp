// A program whose database has two winners of a GPU that no cost model knows.
#pragma once

#include "autotune/problem.hpp"

#include "db/tuning_database.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/winner.hpp"

namespace autotune::test {

inline Winner winner_for(std::int64_t size, double median_us) {
  Winner winner = winner_of(*built_in_kernels().find("gemm_tiled"),
                            {.m = size, .n = size, .k = size}, DeviceInfo{});
  winner.device_class = "test/132sm";  // of which no cost model knows anything
  winner.device_label = "Test GPU";
  winner.environment = {"580.1", "13.0.88", "0.1.0", kMeasuringProtocol};
  winner.median_us = median_us;
  winner.low_us = median_us - 1;
  winner.high_us = median_us + 1;
  winner.measured_at = "2026-01-02T03:04:05Z";
  return winner;
}

struct StoredWinners : Program {
  StoredWinners() {
    TuningDatabase opened = TuningDatabase::open(database);
    const Winner winners[] = {winner_for(1024, 100), winner_for(2048, 600)};
    opened.put_winners(winners);
  }
};

}  // namespace autotune::test
