#include "operation/tensor_content.hpp"

namespace autotune {

Tolerance default_tolerance(ElementType type) {
  const auto both = [](double value) { return Tolerance{value, value}; };
  switch (type) {
    case ElementType::f64:
      return both(1e-10);
    case ElementType::f32:
      return both(1e-4);
    case ElementType::f16:
      return both(1e-2);
    case ElementType::bf16:
      return both(2e-2);
    default:
      return {};  // integers
  }
}

}  // namespace autotune
