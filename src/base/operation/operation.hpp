// What can be computed: an operation says which tensors a problem has, how much work it is, and how
// a result is checked. It is data and pure functions; all that follows from it (memory, launch
// arguments, verification, rates) is written once, for every operation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.hpp"
#include "operation/tensor.hpp"

namespace autotune {

// How inputs are filled.
enum class InputData : std::uint8_t {
  uniform = 0,  // random, uniform in (-1, 1)
  linear = 1,   // the first input rises, the others fall, element by element
};

struct Work {
  double operations = 0;  // floating-point operations
  double bytes = 0;       // that have to be read or written at least
};

// A rectangle of the output's rows and columns.
struct Rectangle {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  bool operator==(const Rectangle&) const = default;
};

// The reference results of a rectangle, row by row: each element's exact value, rounded to FP64,
// and the magnitude that rounding errors are relative to (the sum of the absolute values of its
// terms).
struct ReferenceTile {
  std::vector<double> values;
  std::vector<double> magnitudes;
};

// How results are checked. Results are right when they equal the reference bit for bit on small
// integers, and when |error| / (unit roundoff * magnitude) of every element is at most error_bound
// on the other data.
struct Operation {
  std::string name;  // of Problem::operation()
  // In the order of kernels' arguments; exactly one is an output.
  std::function<std::vector<TensorDesc>(const Problem&)> tensors;
  std::function<Work(const Problem&)> work;
  // How unlike two problems are: 0 for equal sizes; only asked for where same_traits() holds.
  std::function<double(const Problem&, const Problem&)> distance;
  // The values of a kernel's scalar arguments while it is measured.
  std::vector<double> scalars = {};
  // NAME=VALUE macros that a kernel's code depends on besides its parameters.
  std::function<std::vector<std::string>(const Problem&)> code_macros;

  // At most so large may an error be, in units of roundoff and magnitude.
  std::function<double(const Problem&, InputData)> error_bound;
  // CUDA C++ with the kernels reference_integers and reference_real, 256 threads a block:
  //   reference_integers(inputs..., numbers..., ELEMENT_OUT* values)
  //   reference_real(inputs..., numbers..., double* values, float* magnitudes)
  // compiled with -DELEMENT_<NAME>=<type> for each tensor (name in capitals).
  std::string_view reference_source = {};
  std::function<std::vector<std::int64_t>(const Problem&)> reference_numbers;
  std::function<std::int64_t(const Problem&)> reference_blocks;
  // The same on the CPU, for at most 64 x 64 elements of the output. Magnitudes only where wanted.
  std::function<void(const Problem&, std::span<const void* const> inputs, const Rectangle& part,
                     bool with_magnitudes, ReferenceTile& result)>
      reference_tile;

  // Derived from tensors().
  [[nodiscard]] TensorDesc output(const Problem& problem) const;
};

// The operations that a program knows. Immutable once built; shared freely between threads.
class OperationRegistry {
 public:
  explicit OperationRegistry(std::vector<Operation> operations);

  // Throws Error when there is none of that name.
  [[nodiscard]] const Operation& at(std::string_view name) const;
  [[nodiscard]] const Operation& of(const Problem& problem) const {
    return at(problem.operation());
  }

 private:
  std::vector<Operation> operations_;
};

// Those that the program was built with.
[[nodiscard]] const OperationRegistry& built_in_operations();

}  // namespace autotune
