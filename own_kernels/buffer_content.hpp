// What the directives `data` and `tolerance` say of a buffer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "own_kernels/kernel_file.hpp"

namespace autotune {

// Reads `uniform(-1, 1)`, another kind of data, or the name of a file in quotes. `number` reads an
// expression of sizes. Throws UsageError with the place.
[[nodiscard]] DescribedContent parse_content(TokenStream& tokens,
                                             const std::function<Expression()>& number);

// The content for the values of a problem's sizes. Throws UsageError with the place for a range
// that ends before it begins.
[[nodiscard]] TensorContent content_of(const DescribedContent& described,
                                       std::span<const std::int64_t> values);

// Reads an absolute tolerance, and a relative one behind a comma.
[[nodiscard]] Tolerance parse_tolerance(TokenStream& tokens, const Expression::Scope& scope);

}  // namespace autotune
