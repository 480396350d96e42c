// How unlike two problems are.
#pragma once

#include <cmath>

#include "autotune/problem.hpp"

namespace autotune {

// The sum over m, n and k of the factors between them, in octaves: 0 for equal sizes, 1 where one
// of them is twice the other's.
[[nodiscard]] inline double octaves_apart(const GemmProblem& a, const GemmProblem& b) {
  const auto octaves = [](std::int64_t x, std::int64_t y) {
    return std::abs(std::log2(static_cast<double>(x) / static_cast<double>(y)));
  };
  return octaves(a.m, b.m) + octaves(a.n, b.n) + octaves(a.k, b.k);
}

}  // namespace autotune
