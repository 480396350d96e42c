// Judges predictions on shapes that nothing was fitted to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "autotune/problem.hpp"

#include "select/portfolio.hpp"

namespace autotune {

struct CompareOptions {
  std::string output;
  std::string earlier;  // an output whose shapes and tuned configurations are timed; empty: none
  std::string device = "auto";
  Math math = Math::strict;
  std::size_t shapes = 50;
  double seconds_per_shape = 10;  // of tuning
  std::uint64_t seed = 2024;
  std::size_t part = 0;  // shapes whose number leaves this rest when divided by `parts`
  std::size_t parts = 1;
  int rounds = 7;
};

// For each shape: the kernel that gemm() takes before tuning, all of the portfolio, the nearest
// winner, the winner of tuning, and cuBLAS. Those are timed in turn, round after round, and the
// medians appended to the output as one JSON line, at once:
//
//   {"m": 64, "n": 512, "k": 1024, "layout": "NN", "match": "predicted",
//    "explanation": "...", "configurations": {...}, "us": {"predicted": 21.4, "oracle": 21.1,
//    "nearest": 25.0, "tuned": 21.0, "cublas": 22.9}, "seed": 2024, "seconds": 10}
//
// "oracle" is the fastest of the portfolio. Shapes that the output has are not measured again.
// Prints a summary of all lines at the end.
void compare(const ShippedPortfolios& portfolios, const CompareOptions& options);

}  // namespace autotune
