// What the directives `data` and `tolerance` say of a buffer.
#pragma once

#include "operation/tensor_content.hpp"
#include "own_kernels/expression.hpp"
#include "own_kernels/tokens.hpp"

namespace autotune {

// Reads `uniform(-1, 1)`, another kind of data, or the name of a file in quotes. `scope` has the
// names that numbers may be made of, none of which is a variable. Throws UsageError with the place.
[[nodiscard]] TensorContent parse_content(TokenStream& tokens, const Expression::Scope& scope);

// Reads an absolute tolerance, and a relative one behind a comma.
[[nodiscard]] Tolerance parse_tolerance(TokenStream& tokens, const Expression::Scope& scope);

}  // namespace autotune
