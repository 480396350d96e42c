// The random shapes that prediction is trained with and judged by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "autotune/problem.hpp"

namespace autotune {

// The most multiply-adds of a product: some 5 ms on an H200. One in a hundred shapes would have
// more.
inline constexpr double kMostProducts = 1.4e11;

// m, n and k are log-uniform from 16 to 8192. Each 32 shapes in turn have one of the four layouts;
// the last eight of them have odd sizes, so that all leading dimensions are odd, and the others
// multiples of 4. The same for the same seed on every platform.
[[nodiscard]] std::vector<GemmProblem> random_shapes(std::size_t count, std::uint64_t seed,
                                                     Math math);

// One shape of each layout and alignment in turn, for few shapes: the same distribution.
[[nodiscard]] std::vector<GemmProblem> mixed_shapes(std::size_t count, std::uint64_t seed,
                                                    Math math);

}  // namespace autotune
