// Reads descriptions in the T1 format, the input format that Kernel Tuner, KTT and BAT share: a
// JSON file beside the .cu file of its kernel. What it says becomes the directives that pragmas
// before the kernel would have, so that all else is the same for both.
#pragma once

#include <string>
#include <vector>

#include "own_kernels/declaration.hpp"
#include "own_kernels/json_value.hpp"
#include "own_kernels/t1_text.hpp"

namespace autotune {

// Where the kernel of a description is.
struct T1Kernel {
  std::string name;
  std::size_t name_place = 0;
  std::vector<std::string> template_arguments;
  std::string file;
  std::size_t file_place = 0;
};

// Throws UsageError with the place in the description for a file without a kernel, or with one that
// is not CUDA.
[[nodiscard]] T1Kernel t1_kernel(const SourceText& source, const JsonValue& description);

// A declaration of the .cu file that the description is of.
struct T1Declaration {
  const SourceText& source;
  const KernelDeclaration& declaration;
  TypeNames types;  // of template parameters
};

// Throws UsageError with the place of what cannot be read, or does not fit the declaration. Members
// that say nothing of a kernel are left out, such as the search and the budget.
[[nodiscard]] T1Text t1_directives(const SourceText& source, const JsonValue& description,
                                   const T1Declaration& kernel);

// Adds the directives of Arguments and ReferenceArguments.
void put_t1_arguments(T1Text& text, const JsonValue& specification, const T1Declaration& kernel);

}  // namespace autotune
