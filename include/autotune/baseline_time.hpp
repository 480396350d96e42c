// The time of a vendor's library for a product that was tuned.
#pragma once

#include <string>
#include <tuple>

namespace autotune {

// The fastest right algorithm of the library, sampled in turn with the winner on the same data. It
// says nothing of another version of the library.
struct BaselineTime {
  std::string library;  // "cublas"
  std::string version;  // "13.1.0"; empty where it was not kept
  // 0: the library's own choice; 1 to 8: a candidate of cublasLt's heuristic; 9:
  // CUBLAS_GEMM_AUTOTUNE.
  int algorithm = 0;
  double median_us = 0;
  double low_us = 0;  // 95 % confidence interval of the median, or the range of few samples
  double high_us = 0;
  // The library's time divided by the winner's: the median over the rounds of both, with its
  // interval. Above 1 the winner is faster.
  double speedup = 0;
  double speedup_low = 0;
  double speedup_high = 0;
  std::string measured_at;  // UTC, "2026-11-21T05:40:44Z"

  friend bool operator==(const BaselineTime& a, const BaselineTime& b) {
    const auto all = [](const BaselineTime& t) {
      return std::tie(t.library, t.version, t.algorithm, t.median_us, t.low_us, t.high_us,
                      t.speedup, t.speedup_low, t.speedup_high, t.measured_at);
    };
    return all(a) == all(b);
  }
};

}  // namespace autotune
