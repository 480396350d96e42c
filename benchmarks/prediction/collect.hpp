// Times the configurations of the pool on random shapes: the data that prediction is fitted to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "autotune/problem.hpp"

#include "select/portfolio.hpp"

namespace autotune {

struct CollectOptions {
  std::string output;
  std::string device = "auto";
  std::string database;  // whose winners join the pool; empty: none
  Math math = Math::strict;
  double seconds = 240;
  std::uint64_t seed = 1;
  std::size_t spread = 32;
  std::size_t most_shapes = 100'000;
};

// Appends one JSON line for each shape to the output, each as soon as it is measured:
//
//   {"m": 64, "n": 512, "k": 1024, "layout": "NN", "math": "strict", "aligned": true,
//   "device_class": "...",
//    "device_label": "NVIDIA H200", "best_us": 21.4, "seed": 1,
//    "entries": [{"template": "gemm_tma", "space_version": 2, "configuration": "RESULTS_M=8,...",
//                 "cycles": 61000.0, "us": 21.4, "whole": true}, ...]}
//
// "cycles" are the cost model's. "whole" is false where sampling was cut short, because the
// configuration is far behind the best of the shape: "us" is then a single sample or an estimate.
// Configurations that do not run have "status" in their place; those that the model puts far behind
// are left out.
void collect(const ShippedPortfolios& portfolios, const CollectOptions& options);

}  // namespace autotune
