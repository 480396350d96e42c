// The operations that can be computed. An operation says which tensors a problem has, how much work
// it is, and how a result is checked. It is data and pure functions; all that follows from it
// (memory, launch arguments, verification, rates) is written once, for every operation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.hpp"
#include "core/tensor.hpp"
#include "operation/launched_reference.hpp"
#include "operation/tensor_content.hpp"

namespace autotune {

// The data that inputs are filled with.
enum class InputData : std::uint8_t {
  uniform = 0,  // random, uniform in (-1, 1)
  linear = 1,   // the first input rises from 0 to 1, the others fall from 1 to 0, by element
};

struct Work {
  double operations = 0;  // floating-point operations
  double bytes = 0;       // the least number that has to be read and written
};

// An operation has its results checked in one of two ways.
// - By reference_source: a result is right when every element equals the reference bit for bit on
//   small integers, and when |error| <= error_bound * (unit roundoff of its type) * magnitude holds
//   for every element on other data.
// - Without it, by launched_reference and files of expected values, within a tolerance
//   (TensorContent).
struct Operation {
  std::string name;  // of Problem::operation()
  // The tensors of a problem without padding, in the order by which kernel arguments refer to them.
  // Their roles say which are outputs; there is one at least. Throws Error for a problem with other
  // sizes or traits than the operation knows.
  std::function<std::vector<TensorDesc>(const Problem&)> tensors;
  std::function<Work(const Problem&)> work;
  // The distance of two problems that differ in their sizes alone: 0 for equal ones.
  std::function<double(const Problem&, const Problem&)> distance;
  // A problem for people, shorter than its key: "1024x512x2048 TN".
  std::function<std::string(const Problem&)> text = [](const Problem& problem) {
    return to_string(problem);
  };
  // The values that kernels are measured with for the operation's scalars.
  std::vector<double> scalars = {};
  // The values of arguments of the kind ArgumentKind::size; if this is left out, the problem's
  // sizes. Kernels of 32-bit integers read the low half of a value.
  std::function<std::vector<std::int64_t>(const Problem&)> numbers = {};
  // Macros "NAME=VALUE" that a kernel's code depends on in addition to its parameters.
  std::function<std::vector<std::string>(const Problem&)> code_macros = [](const Problem&) {
    return std::vector<std::string>();
  };

  // The data of each tensor, in their order. If this is left out, InputData says what the inputs
  // are. With reference_source it is the data other than small integers. Otherwise there are two
  // sets of data, which differ in their random numbers.
  std::function<std::vector<TensorContent>(const Problem&)> contents = {};
  // The kernel that gives what is expected of the outputs that have no file of expected values.
  std::function<LaunchedReference(const Problem&)> launched_reference = {};

  // These are only for an operation with reference_source.
  std::function<double(const Problem&, InputData)> error_bound = {};
  // The reference: CUDA C++ with two kernels of kReferenceThreads a block and reference_blocks()
  // blocks, which divide the outputs in the same way. They take the address of each input (an inout
  // is an input, too),
  // reference_numbers() as 64-bit integers, and for each output the addresses of what they write,
  // for the whole output row by row:
  //   reference_integers(..., ELEMENT_<output>* values)
  //   reference_real(..., double* values, float* magnitudes)
  // A magnitude is what an element's rounding errors are relative to, in most operations the sum of
  // the absolute values of its terms. The text is compiled after element.cuh, with a macro
  // ELEMENT_<NAME> for each tensor: by NVRTC, and for the CPU device as plain C++.
  std::string_view reference_source = {};
  std::function<std::vector<std::int64_t>(const Problem&)> reference_numbers = {};
  std::function<std::int64_t(const Problem&)> reference_blocks = {};

  // The names of the sizes that its problems consist of, where these can be given by their names
  // and problems have no traits.
  std::optional<std::vector<std::string>> named_sizes = {};
  // Throws UsageError for a problem that has such sizes but cannot be computed; may be left out.
  std::function<void(const Problem&)> check = {};

  // Returns whether a problem is one of this operation's. A database may hold others, such as those
  // of newer versions.
  [[nodiscard]] bool has(const Problem& problem) const;
};
inline constexpr std::int64_t kReferenceThreads = 256;

// The problem with these sizes, in any order, of an operation with named sizes. Throws UsageError
// that names a size which is missing, unknown or given twice, and what Operation::check throws.
[[nodiscard]] Problem problem_of(const Operation& operation,
                                 const std::vector<Problem::Size>& sizes);

// The rate in GFLOP/s: 10^9 floating-point operations per second.
[[nodiscard]] double gflops(const Work& work, double time_us);

// The device code that reads and writes elements of any type. It is compiled before
// reference_source.
[[nodiscard]] std::string_view element_source();
// Macro definitions "ELEMENT_<NAME>=<CUDA type>" for each tensor, the name in capitals.
[[nodiscard]] std::vector<std::string> element_macros(std::span<const TensorDesc> tensors);

}  // namespace autotune
