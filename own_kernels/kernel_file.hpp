// Reads a .cu file in which pragmas describe kernels (docs/own-kernels.md), as Kernel Launcher's
// do, or a .json file in the T1 format that describes a kernel of another file. The result is plain data: own_kernels/described_kernel makes an operation and a template of
// it. Nothing of the file is executed.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config_space.hpp"
#include "core/element_type.hpp"
#include "core/tensor.hpp"
#include "operation/tensor_content.hpp"
#include "own_kernels/expression.hpp"
#include "own_kernels/tokens.hpp"

namespace autotune {

// What a buffer holds. The numbers of its kind are expressions of sizes.
struct DescribedContent {
  TensorContent content;
  std::vector<Expression> numbers;
};

// An argument of a kernel. Expressions have the sizes and then the parameters as variables.
struct DescribedArgument {
  enum class Kind : std::uint8_t { buffer, number, scalar };
  Kind kind = Kind::buffer;
  std::string name;
  std::size_t offset = 0;               // of the name in the file
  ElementType type = ElementType::f32;  // of the elements, or of a scalar: f32 or f64
  std::int64_t width = 1;               // elements of a vector type: 4 for float4

  // Of a buffer.
  TensorRole role = TensorRole::input;
  std::optional<Expression> elements;  // of `type` times width, of sizes alone
  DescribedContent content;

  // Of a number, of sizes alone, or of a scalar, of nothing.
  std::optional<Expression> value;
  bool is_wide = false;  // a number of 64 bits
  bool is_unsigned = false;
};

// An option of the compiler, with a value behind it or not.
struct DescribedOption {
  std::string text;
  std::optional<Expression> value;
  std::optional<Expression> condition;  // the option is left out where it is false
};

struct DescribedRestriction {
  Expression holds;
  bool has_sizes = false;  // it depends on the sizes of the problem
};

// A function of the file that runs on the host and gives the right results.
struct HostReference {
  std::string name;
  std::size_t place = 0;  // of the name in the directive
  std::string code;       // to be compiled for the host (own_kernels/host_code.hpp)
};

struct DescribedKernel {
  std::shared_ptr<const SourceText> source;  // that the expressions refer to
  std::string name;                          // of the function
  std::string key;  // its identity, a C identifier: the tuning key, else the name
  std::map<std::string, std::string> template_values;  // as the code calls it: "float" for T
  std::size_t offset = 0;                              // of the name in the file
  std::string code;  // to be compiled: the file with what it includes, and `key` as its C symbol
  std::vector<std::string> sizes;
  std::vector<TuningParameter> parameters;
  std::vector<std::int64_t> defaults;  // of the parameters
  std::vector<DescribedRestriction> restrictions;
  std::vector<DescribedArgument> arguments;  // in the function's order
  std::array<std::optional<Expression>, 3> block = {};
  std::array<std::optional<Expression>, 3> grid = {};      // in blocks
  std::array<std::optional<Expression>, 3> extent = {};    // problem_size, where `grid` is left out
  std::array<std::optional<Expression>, 3> divisor = {};   // of the extent; left out: the block
  std::optional<Expression> shared_bytes;                  // dynamic, a block
  std::vector<std::pair<std::string, Expression>> macros;  // define(NAME = expression)
  std::vector<DescribedOption> compiler_options;
  std::optional<Expression> operations, bytes;  // work
  // What gives the right results: another kernel of the file, by its name, or a function of the host.
  // Neither: the kernel's own default.
  std::string reference;
  std::optional<HostReference> host_reference = {};
};

// The kernels that a file describes, those that serve others as a reference included.
struct KernelFile {
  std::string name;  // without its folder
  std::vector<DescribedKernel> kernels;

  // The kernel of this name; with an empty name the only one that is not the reference of another.
  // Throws UsageError that lists the names.
  [[nodiscard]] const DescribedKernel& kernel(const std::string& name) const;
};

// What the caller says of a file beside its text.
struct KernelFileOptions {
  std::vector<std::filesystem::path> include_folders;  // searched after the file's own
  std::vector<std::string> template_arguments;         // in the order of the template's parameters
  std::optional<std::string> text;                     // in place of the file's
};

inline constexpr std::size_t kMaxKernelFileBytes = std::size_t{1} << 20;  // with what it includes

// A path that ends in .json is that of a T1 description. Throws UsageError that begins with
// FILE:LINE:COLUMN, or names the file where it cannot be read.
[[nodiscard]] KernelFile read_kernel_file(const std::filesystem::path& path,
                                          const KernelFileOptions& options = {});

}  // namespace autotune
