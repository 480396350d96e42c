// The structures of the C API as values of the C++ API, and back. All functions throw UsageError
// for what a caller may not pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "autotune/autotune.h"
#include "autotune/autotune.hpp"
#include "autotune/error.hpp"

struct autotune_prepared {
  autotune::PreparedMatrix matrix;
};

namespace autotune {

template <typename Object>
Object& given(Object* object, const char* name) {
  if (object == nullptr) throw UsageError(fmt::format("{} is a null pointer", name));
  return *object;
}

// The size of a structure's first version, which older callers give.
template <typename Struct>
constexpr std::size_t kFirstSize = sizeof(Struct);
template <>
constexpr std::size_t kFirstSize<autotune_options> = offsetof(autotune_options, bundle);
template <>
constexpr std::size_t kFirstSize<autotune_problem> = offsetof(autotune_problem, batch);
template <>
constexpr std::size_t kFirstSize<autotune_gemm_call> = offsetof(autotune_gemm_call, alpha_ptr);
template <>
constexpr std::size_t kFirstSize<autotune_choice> = offsetof(autotune_choice, tuned_batch);

template <>
constexpr std::size_t kFirstSize<autotune_tune_options> = offsetof(autotune_tune_options,
                                                                   max_error);

// Throws UsageError for a size that is below that of the structure's first version, or that no
// compiler gives it. Any other may be that of a version before or after this one.
template <typename Struct>
void check_size(std::size_t size, const char* name) {
  if (size >= kFirstSize<Struct> && size % alignof(Struct) == 0) return;
  throw UsageError(
      fmt::format("{}: size is {}: it must be sizeof, {}", name, size, sizeof(Struct)));
}

// An enumerator. Those that no enumeration here has are refused where the value is used.
template <typename Enum>
Enum enumerator(std::int32_t value) {
  return static_cast<Enum>(value < 0 || value > 255 ? 255 : value);
}

// 0 or 1.
[[nodiscard]] bool truth_value(std::int32_t value, const char* name);

// Copies as much of a text as there is room for, with a final 0.
void copy_text(std::string_view text, char* to, std::size_t size) noexcept;

[[nodiscard]] GemmProblem problem_of(const autotune_problem* from);
// A call of a Library, or of a plan for `planned`, whose problem the caller may leave out.
struct CCall {
  GemmProblem problem;
  GemmArguments arguments;
  std::int32_t* match;  // or nullptr
};
[[nodiscard]] CCall call_of(const autotune_gemm_call* from, const GemmProblem* planned = nullptr);
[[nodiscard]] Matrix matrix_of(const autotune_matrix& from, const char* name);
// An array of problems, whose elements may be of another version's size.
[[nodiscard]] std::vector<GemmProblem> problems_of(const autotune_problem* first,
                                                   std::size_t count);
[[nodiscard]] KernelSource source_of(const autotune_kernel_source* from);
[[nodiscard]] KernelSizes sizes_of(const autotune_kernel_size* first, std::size_t count);
[[nodiscard]] std::vector<LaunchArgument> arguments_of(const autotune_launch_argument* first,
                                                       std::size_t count);
// The defaults for a null pointer.
[[nodiscard]] LibraryOptions options_of(const autotune_options* from);
[[nodiscard]] TuningOptions tuning_options_of(const autotune_tune_options* from);

// Write the members behind the size, as many as the caller's structure has.
void write_choice(const BestConfiguration& best, autotune_choice& to);
void write_choice(const KernelConfiguration& best, const std::string& kernel, autotune_choice& to);
void write_argument(const ArgumentDescription& argument, autotune_kernel_argument& to);
// `tuned`: the number of problems that have a winner.
void write_result(const SearchSummary& summary, std::int64_t tuned, autotune_tune_result& to);

}  // namespace autotune
