// All that a worker needs to fill, launch, verify and time kernels on one problem, as plain data. A
// worker that has it need not know the operation.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/launch_geometry.hpp"
#include "operation/operation.hpp"

namespace autotune {

struct ProblemData {
  std::string text;                 // for messages: Operation::text
  std::vector<TensorDesc> tensors;  // without padding; their roles say which are outputs
  std::vector<std::int64_t> sizes;  // in the problem's order, or Operation::numbers
  std::vector<double> scalars;
  Work work;
  // For the data that the inputs are filled with; if results have tolerances, 1.
  double error_bound = 0;
  std::vector<TensorContent> contents = {};  // of the tensors, or none: as InputData says
  std::optional<LaunchedReference> launched_reference = {};

  // See Operation::reference_source.
  struct Reference {
    std::string source;
    std::vector<std::int64_t> numbers;
    std::int64_t blocks = 0;

    bool operator==(const Reference&) const = default;
  };
  Reference reference = {};

  // Returns whether results are judged by tolerances (see Operation).
  [[nodiscard]] bool has_tolerances() const { return reference.source.empty(); }
  // The tolerance of an output.
  [[nodiscard]] Tolerance tolerance(std::size_t tensor) const;
};

[[nodiscard]] ProblemData problem_data(const Operation& operation, const Problem& problem,
                                       InputData input);

// Two problems with the same results on the same inputs: one product by any arithmetic.
[[nodiscard]] inline bool same_results(const ProblemData& a, const ProblemData& b) {
  return a.tensors == b.tensors && a.reference == b.reference && a.contents == b.contents &&
         a.launched_reference == b.launched_reference &&
         (!a.has_tolerances() || (a.sizes == b.sizes && a.scalars == b.scalars));
}

// The reference as it is compiled.
struct ReferenceCode {
  std::string text;
  std::vector<std::string> macros;  // NAME=VALUE

  auto operator<=>(const ReferenceCode&) const = default;
};
[[nodiscard]] ReferenceCode reference_code(const ProblemData& data);

[[nodiscard]] LaunchGeometry reference_geometry(const ProblemData::Reference& reference);

// The arguments of a launch of the reference. `outputs` has the addresses of what is written for
// each output in turn.
class ReferenceArguments {
 public:
  ReferenceArguments(const ProblemData::Reference& reference, std::span<const std::uint64_t> inputs,
                     std::span<const std::uint64_t> outputs);
  ReferenceArguments(const ReferenceArguments&) = delete;
  ReferenceArguments& operator=(const ReferenceArguments&) = delete;

  // A pointer to each argument.
  [[nodiscard]] void** pointers() { return pointers_.data(); }

 private:
  std::vector<std::uint64_t> words_;  // addresses and numbers have 64 bits each
  std::vector<void*> pointers_;
};

}  // namespace autotune
